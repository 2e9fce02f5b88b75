"""Rules by which headers and the form of texts suggest that a column names people, or holds codes.

A guess is only where a page or a proposal begins: no release rests on one.
"""

import heapq
import re
import unicodedata
from collections.abc import Sequence

# Headers in lower case, without accents, of names, addresses, e-mail, phone and person numbers in many languages.
# One word more may stand before an address, e-mail or phone.
PERSON = re.compile(
    "names?|nome?|nombre|naam|namn|navn|imie|nazwisko|имя|фамилия|фио|姓名|名字|氏名|名前"
    "|(full|first|last|middle|given|family|maiden|patient|customer|employee|client|contact) ?names?"
    "|(sur|fore|vor|nach|familien|for|efter|etter)(name|namn|navn)|prenom|apellidos?|cognome|sobrenome|apelido"
    "|voornaam|achternaam"
    "|([^ ]+ )?(e ?mail|courriel|correo( electronico)?|address|adresse|anschrift|strasse|direccion|domicilio|indirizzo"
    "|adres|adress|straat|gata|ulica|endereco|morada|адрес|地址|住所|phone|telephone|telefono?|telefone|telefoon"
    "|telefonnummer|handynummer|mobile|mobiltelefon|cellphone|movil|cellulare|телефон|电话|手机|電話番号)"
    "( address| adresse)?( number| no| nr)?"
    "|(ssn|social security|passport|national id|tax id|driving licen[cs]e|nhs|iban|dni|nif|curp|cpf|bsn|pesel|cpr|nino)"
    "( number| no| nr)?"
    "|person(nummer|alausweis|enkennzeichen)|fodselsnummer|reisepass(nummer)?|codice fiscale|numero de securite sociale"
    "|(steuer|sozialversicherungs|ausweis|versicherten) ?(nummer|nr|id)|инн|снилс|身份证(号)?"
)
BORN = re.compile(
    "(birth ?(date|day)|(date of )?birth|dob|born|geburts(datum|tag)|geb ?dat(um)?|geboren|(date de )?naissance|ne le"
    "|(fecha de )?nacimiento|(data di )?nascita|(data de )?nascimento|geboorte ?datum|fodelse(datum|dag)|fodselsdato"
    "|data urodzenia|дата рождения|出生日期|生年月日)( .*)?"
)
WHO = (
    "person|patient|customer|client|user|member|employee|student|citizen|participant|subject|kunden?|patienten"
    "|mitarbeiter|mitglieds?|cliente?|paciente|utente"
)
NUMBER = "key|number|nummer|numero|no|nr"
IDENTIFIER = re.compile(f"([^ ]+ )*(ids?|uuid|guid)|({WHO}|case|account|household)s? ?({NUMBER})")
# One person each: not a visit, a stay, a case, a household or a row, of which a person may have several.
ONE_PERSON = re.compile(
    f"({WHO})s? ?(ids?|uuid|guid|{NUMBER})|ids? ({WHO})s?|person|patient"
    f"|(mrn|ssn|social security|nhs|national id|dni|nif|curp|cpf|bsn|pesel|cpr|nino)( number| no| nr)?"
    "|personnummer|fodselsnummer|codice fiscale|(sozialversicherungs|versicherten) ?(nummer|nr|id)|снилс|身份证(号)?"
)
POSTAL = re.compile(r"\b(zip(code)?|postcode|postal|plz|postleitzahl|postnummer|postnr|cep)\b")
CODED = re.compile(r"\b(icd|icd9|icd10|atc|nace|isco|isic|naics|cpt|iso|diagnos(is|e|tico)|codes?)\b")
CODE = re.compile(r"[A-Z][0-9]{2}(\.?[0-9A-Z]{1,4})?")  # as in ICD-10 and ATC
EMAIL = re.compile(r"[^@\s]+@(?=.\S*\.\S)[^@\s]+")
PHONE = re.compile(r"(?=(\D*\d){7,15}\D*$)(?=.*[+ ()/-])[+(]?[0-9][0-9 ()./-]+[0-9]")
NUMBERED = re.compile(r"\d{6,8}[-+]\d{4}|\d{3}\.\d{3}\.\d{3}-\d{2}|[A-Z]{2}\d{6}[A-D]|[A-Z]{2}\d{2}[A-Z0-9]{11,30}")
WORD = r"[A-ZÀ-ÖØ-ÞĀ-ŽА-Я][^\W\d_]*(?:['’.-][^\W\d_]+)*\.?"
NAME = re.compile(f"{WORD}(,? ({WORD}|d[aei]|v[ao]n)){{1,4}}")
STREET = re.compile(
    r"\d.*\b(street|st|road|rd|avenue|ave|lane|drive|rue|blvd|square)\b|\b(rue|calle|via|rua|ul\.|ulica|avenida) .*\d"
    r"|(stra(ss|ß)e|str\.|weg|gasse|platz|straat|laan|gatan|vägen|vej) *\d",
    re.IGNORECASE,
)
FORMS = (EMAIL.fullmatch, PHONE.fullmatch, NUMBERED.fullmatch, NAME.fullmatch, STREET.search)
MOST = 0.9  # share of a column's texts that have a form
SOME, LONGEST = 1000, 100  # texts that are looked at for it, and their characters


def header_of(name: str) -> str:
    """The form in which column names are compared: words in lower case, without accents and signs."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    decomposed = unicodedata.normalize("NFKD", spaced).casefold()
    return " ".join(re.sub(r"[\W_]+", " ", re.sub("[\u0300-\u036f]", "", decomposed)).split())


def names_people(name: str) -> bool:
    """Whether a column's name alone suggests that it identifies people: public, as no cell is read."""
    header = header_of(name)
    return bool(PERSON.fullmatch(header) or BORN.fullmatch(header) or IDENTIFIER.fullmatch(header))


def names_one(name: str) -> bool:
    """Whether a column's name alone suggests that equal values are the same person: public, as no cell is read."""
    return bool(ONE_PERSON.fullmatch(header_of(name)))


def formed(texts: Sequence[str]) -> bool:
    """Whether most texts look like e-mail addresses, phone or person numbers, names, or street addresses."""
    sample = [text[:LONGEST] for text in heapq.nsmallest(SOME, texts)]
    return any(sum(map(bool, map(form, sample))) >= MOST * len(sample) for form in FORMS)


def natural(text: str) -> tuple:
    """A sort key for values: numbers by size, then texts with the numbers in them by size: `0`, `2`, `10`, `a9`."""
    parts = re.split("([0-9]+)", text.casefold())
    parts[1::2] = [(len(digits.lstrip("0")), digits.lstrip("0")) for digits in parts[1::2]]  # type: ignore[list-item]
    number = re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", text)
    return number is None, float(text) if number else 0.0, parts, text
