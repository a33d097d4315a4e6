"""A report as Markdown and as HTML."""

from dataclasses import replace
from html.parser import HTMLParser

from hypothesis import given
from markdown_it import MarkdownIt

from verax.audit import Report
from verax.audit.render import to_html, to_markdown
from verax.audit.render._summary import SECTIONS

from .reports import reports
from .sample import ISSUE, REPORT

NASTY = "<img src=x onerror=alert(1)> [a](javascript:b) **no** | # `` ` & @someone $x$"


class Page(HTMLParser):
    """What a browser would make of it: tags in order, text, and whether tags are balanced."""

    VOID = ("br", "meta")

    def __init__(self, page: str):
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.open: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def in_order(text: str) -> bool:
    places = [text.index(f"{number}. {title}") for number, title in enumerate(SECTIONS, 1)]
    return places == sorted(places)


def as_page(markdown: str) -> Page:
    return Page(MarkdownIt("commonmark").enable("table").render(markdown))


def test_markdown_has_all_sections_in_order():
    text = to_markdown.render(REPORT)
    assert text.startswith(
        "# Audit of `train.py:step`\n\n"
        "**1 certain issue (1 critical), 1 likely issue (1 minor), 1 warning, 1 verified**\n"
    )
    assert in_order(text)
    assert "  - line 12 `h = jnp.tanh(x @ w)`\n" in text
    assert "    - `params['w'][0]` `f32[feat=4,hid=32]`\n" in text
    assert "| carry | `h` | `f32[batch=8,hid=32]` | `unchanged` |\n" in text
    assert "### AX001 Axes that mean different things meet\n" in text
    assert "**critical** at `train.py:41:12` in `step`\n" in text
    assert "- SC001 **carry of the scan** (`train.py:14`): same structure" in text


def test_markdown_shows_what_the_report_says():
    page = as_page(to_markdown.render(REPORT))
    assert "adds batch=8 to time=8 in params['w'][0], [bold]not markup[/bold]" in page.text
    assert "y = y.T\nreturn x + y\n" in page.text
    assert page.tags.count("td") == 8
    assert "x|y" in page.text


def test_markdown_of_a_program_stays_text():
    issue = replace(ISSUE, title=NASTY, current=NASTY, fix=f"{NASTY}\n```\n{NASTY}")
    page = as_page(to_markdown.render(Report(NASTY, issues=(issue,), notes=(NASTY,))))
    assert not {"img", "a", "em"} & set(page.tags)
    assert page.text.count(NASTY) >= 4


@given(reports)
def test_markdown_of_any_report_can_be_shown(report: Report):
    assert in_order(to_markdown.render(report))


def test_html_is_a_whole_page_with_all_sections_in_order():
    text = to_html.render(REPORT)
    page = Page(text)
    assert text.startswith("<!doctype html>")
    assert page.tags[:2] == ["html", "head"]
    assert in_order(page.text)
    assert "adds batch=8 to time=8 in params['w'][0], [bold]not markup[/bold]" in page.text
    assert "<y> comes | from elsewhere" in page.text


def test_a_notebook_gets_one_element():
    text = REPORT._repr_html_()
    assert text.startswith('<div class="verax">')
    assert {"html", "body", "script"}.isdisjoint(Page(text).tags)


@given(reports)
def test_html_of_any_report_is_balanced(report: Report):
    ours = "div style h1 code p strong details summary ul li br span table tr th td dl dt dd ol"
    assert set(Page(to_html.fragment(report)).tags) <= set(ours.split())


def test_html_of_a_program_stays_text():
    issue = replace(ISSUE, title=NASTY, current=NASTY)
    page = Page(to_html.render(Report(NASTY, issues=(issue,), notes=(NASTY,))))
    assert "img" not in page.tags
    assert page.text.count("<img src=x onerror=alert(1)>") >= 4


def test_what_was_not_computed_is_not_called_none():
    report = Report("t", omitted="not shown for folders")
    markdown = to_markdown.render(report)
    assert markdown.count("\n\nnot shown for folders\n") == 3
    assert markdown.count("\n\nnone\n") == 3
    html = to_html.render(report)
    assert html.count("<p>not shown for folders</p>") == 3
    assert html.count("<p>none</p>") == 3
