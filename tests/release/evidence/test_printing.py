"""The pages that leave: whatever a template shows is text, and all templates go with the package."""

import tomllib
from pathlib import Path

import pytest
from jinja2 import UndefinedError
from markupsafe import Markup

import dpcore
from dpcore.release.evidence.printing import render_page


def written(tmp_path, body, **values):
    own = tmp_path / "own.html"
    own.write_text(
        '{% extends "frame.html" %}{% set title = name %}{% block body %}' + body + "{% endblock %}"
    )
    return render_page(own, **values)


def test_a_hostile_value_is_text_wherever_a_template_shows_it(tmp_path):
    name = "</title><script>alert('1')</script>"
    apart = "&lt;/title&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;"
    text = written(tmp_path, "{{ name }} {{ drawn }}", name=name, drawn=Markup("<svg></svg>"))
    assert f"<title>{apart}</title>" in text
    assert f"<h1><bdi>{apart}</bdi></h1>" in text
    assert f"<bdi>{apart}</bdi> <svg></svg>" in text
    assert "<script" not in text
    assert "default-src 'none'" in text


def test_a_value_that_nobody_gave_is_an_error(tmp_path):
    with pytest.raises(UndefinedError):
        written(tmp_path, "{{ missing }}", name="x")


def test_the_package_holds_every_file_that_is_no_program():
    """What an installed package lacks is seen only where it runs without the sources."""
    top = Path(dpcore.__file__).parent
    project = tomllib.loads((top.parent / "pyproject.toml").read_text())
    assert project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"] == ["dpcore"]
    assert (top / "release" / "evidence" / "templates" / "frame.html").exists()
    assert any(name.startswith("jinja2") for name in project["project"]["dependencies"])
