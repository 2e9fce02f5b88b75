"""Rules by which headers and the form of texts suggest that a column names people, or holds codes.

A guess is only where a page or a proposal begins: no release rests on one.
"""

import heapq
import re
import unicodedata
from collections.abc import Sequence

# Headers in lower case, without accents, of names, addresses, e-mail, phone and person numbers in
# many languages.
# One word more may stand before an address, e-mail or phone.
PERSON_HEADER = re.compile(
    "names?|nome?|nombre|naam|namn|navn|imie|nazwisko|имя|фамилия|фио|姓名|名字|氏名|名前"
    "|(full|first|last|middle|given|family|maiden|patient|customer|employee|client|contact) ?names?"
    "|(sur|fore|vor|nach|familien|for|efter|etter)(name|namn|navn)|prenom|apellidos?|cognome|sobrenome|apelido"
    "|voornaam|achternaam"
    "|([^ ]+ )?(e ?mail|courriel|correo( "
    "electronico)?|address|adresse|anschrift|strasse|direccion|domicilio|indirizzo"
    "|adres|adress|straat|gata|ulica|endereco|morada|адрес|地址|住所|phone|telephone|telefono?|telefone|telefoon"
    "|telefonnummer|handynummer|mobile|mobiltelefon|cellphone|movil|cellulare|телефон|电话|手机|電話番号)"
    "( address| adresse)?( number| no| nr)?"
    "|(ssn|social security|passport|national id|tax id|driving "
    "licen[cs]e|nhs|iban|dni|nif|curp|cpf|bsn|pesel|cpr|nino)"
    "( number| no| nr)?"
    "|person(nummer|alausweis|enkennzeichen)|fodselsnummer|reisepass(nummer)?|codice "
    "fiscale|numero de securite sociale"
    "|(steuer|sozialversicherungs|ausweis|versicherten) ?(nummer|nr|id)|инн|снилс|身份证(号)?"
)
BIRTH_DATE_HEADER = re.compile(
    "(birth ?(date|day)|(date of )?birth|dob|born|geburts(datum|tag)|geb ?dat(um)?|geboren|(date "
    "de )?naissance|ne le"
    "|(fecha de )?nacimiento|(data di )?nascita|(data de )?nascimento|geboorte "
    "?datum|fodelse(datum|dag)|fodselsdato"
    "|data urodzenia|дата рождения|出生日期|生年月日)( .*)?"
)
PERSON_WORDS = (
    "person|patient|customer|client|user|member|employee|student|citizen|participant|subject"
    "|individual|respondent|kunden?|patienten"
    "|mitarbeiter|mitglieds?|cliente?|paciente|utente"
)
NUMBER_WORDS = "key|number|nummer|numero|no|nr"
# words that are written together with "id"
ID_STEMS = (
    "case|subj|pat|pers|fam|family|hh|house|school|sch|class|study|stud|ind|indiv|loc|emp|cust|firm"
    "|state|county|dist|choice|int|prof"
)
IDENTIFIER_HEADER = re.compile(
    f"([^ ]+ )*(ids?|uuid|guid|({PERSON_WORDS}|{ID_STEMS})s?ids?|[chfpsu]id)"
    f"|({PERSON_WORDS}|case|account|household)s? ?({NUMBER_WORDS})"
    "|(case|pers|pid|obs|seq|hh|fam) ?(no|num|nr)"
)
# One person each: not a visit, a stay, a case, a household or a row, of which a person may have
# several.
ONE_PERSON_HEADER = re.compile(
    f"({PERSON_WORDS})s? ?(ids?|uuid|guid|{NUMBER_WORDS})|ids? ({PERSON_WORDS})s?|person|patient"
    "|(mrn|ssn|social security|nhs|national id|dni|nif|curp|cpf|bsn|pesel|cpr|nino)( number| "
    "no| nr)?"
    "|personnummer|fodselsnummer|codice fiscale|(sozialversicherungs|versicherten) "
    "?(nummer|nr|id)|снилс|身份证(号)?"
)
POSTAL_CODE_HEADER = re.compile(
    r"\b(zip(code)?|postcode|postal|plz|postleitzahl|postnummer|postnr|cep)\b"
)
CODE_HEADER = re.compile(
    r"\b(icd|icd9|icd10|atc|nace|isco|isic|naics|cpt|iso|diagnos(is|e|tico)|codes?)\b"
)
QUANTITY_HEADER = re.compile(  # `days since diagnosis` is no diagnosis
    r"\b(age|time|days?|weeks?|months?|years?|date|duration|since|until|cost|costs)\b"
)
CODE_TEXT = re.compile(r"[A-Z][0-9]{2}(\.?[0-9A-Z]{1,4})?")  # as in ICD-10 and ATC
EMAIL_TEXT = re.compile(r"[^@\s]+@(?=.\S*\.\S)[^@\s]+")
PHONE_TEXT = re.compile(r"(?=(\D*\d){7,15}\D*$)(?=.*[+ ()/-])[+(]?[0-9][0-9 ()./-]+[0-9]")
ID_NUMBER_TEXT = re.compile(
    r"\d{6,8}[-+]\d{4}|\d{3}\.\d{3}\.\d{3}-\d{2}|[A-Z]{2}\d{6}[A-D]|[A-Z]{2}\d{2}[A-Z0-9]{11,30}"
)
NAME_WORD = r"[A-ZÀ-ÖØ-ÞĀ-ŽА-Я][^\W\d_]*(?:['’.-][^\W\d_]+)*\.?"
PERSON_NAME_TEXT = re.compile(f"{NAME_WORD}(,? ({NAME_WORD}|d[aei]|v[ao]n)){{1,4}}")
STREET_TEXT = re.compile(
    r"\d.*\b(street|st|road|rd|avenue|ave|lane|drive|rue|blvd|square)\b"
    r"|\b(rue|calle|via|rua|ul\.|ulica|avenida) .*\d"
    r"|(stra(ss|ß)e|str\.|weg|gasse|platz|straat|laan|gatan|vägen|vej) *\d",
    re.IGNORECASE,
)
IDENTIFIER_TESTS = (
    EMAIL_TEXT.fullmatch,
    PHONE_TEXT.fullmatch,
    ID_NUMBER_TEXT.fullmatch,
    PERSON_NAME_TEXT.fullmatch,
    STREET_TEXT.search,
)
MIN_MATCHING_SHARE = 0.9  # share of a column's texts that have a form
MAX_TEXTS_TESTED = 1000  # texts that are looked at for it
MAX_TEXT_CHARS = 100  # characters of a text that are looked at


def normalize_header(name: str) -> str:
    """Return the form in which column names are compared.

    This is words in lower case, without accents and signs.
    """
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    decomposed = unicodedata.normalize("NFKD", spaced).casefold()
    return " ".join(re.sub(r"[\W_]+", " ", re.sub("[\u0300-\u036f]", "", decomposed)).split())


def header_names_person(name: str) -> bool:
    """Return whether a column's name alone suggests that the column identifies people.

    The answer is public, as no cell is read.
    """
    header = normalize_header(name)
    return bool(
        PERSON_HEADER.fullmatch(header)
        or BIRTH_DATE_HEADER.fullmatch(header)
        or IDENTIFIER_HEADER.fullmatch(header)
    )


def header_names_one_person(name: str) -> bool:
    """Return whether a column's name alone suggests that equal values are the same person.

    The answer is public, as no cell is read.
    """
    return bool(ONE_PERSON_HEADER.fullmatch(normalize_header(name)))


def header_names_codes(header: str) -> bool:
    """Return whether a normalized column name suggests codes, as of diseases or of places."""
    names_codes = POSTAL_CODE_HEADER.search(header) or CODE_HEADER.search(header)
    return bool(names_codes) and not QUANTITY_HEADER.search(header)


def looks_like_identifier(texts: Sequence[str]) -> bool:
    """Return whether most texts look like they identify a person.

    These are e-mail addresses, phone or person numbers, names, and street addresses.
    """
    sample = [text[:MAX_TEXT_CHARS] for text in heapq.nsmallest(MAX_TEXTS_TESTED, texts)]
    return any(
        sum(map(bool, map(form, sample))) >= MIN_MATCHING_SHARE * len(sample)
        for form in IDENTIFIER_TESTS
    )


def natural_sort_key(text: str) -> tuple:
    """Return a sort key for values: numbers by size, then texts.

    Texts are sorted with the numbers in them by size: `0`, `2`, `10`, `a9`.
    """
    parts = re.split("([0-9]+)", text.casefold())
    parts[1::2] = [(len(digits.lstrip("0")), digits.lstrip("0")) for digits in parts[1::2]]  # type: ignore[list-item]
    number = re.fullmatch(r"-?([0-9]+(\.[0-9]+)?|\.[0-9]+)", text)
    return number is None, float(text) if number else 0.0, parts, text
