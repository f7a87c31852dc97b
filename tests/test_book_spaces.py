"""A number and its percent sign stay on one line."""

from docutils import nodes

from intertwine_book.build.spaces import bind


def test_a_percent_sign_follows_its_number_on_the_same_line_and_code_is_as_written():
    words, code = nodes.paragraph("", "It keeps "), nodes.literal("", "7 % 2")
    words += [nodes.inline("", "92"), nodes.Text(" % of "), code, nodes.Text(", 5 %.")]
    bind(words)
    assert words.astext() == "It keeps 92\u00a0% of 7 % 2, 5\u00a0%."
