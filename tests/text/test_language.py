"""`firth.text.language`: which language some texts are in."""

import pytest

from firth.text.language import UNKNOWN, language_of_texts


@pytest.mark.parametrize(
    ("language", "texts"),
    [
        ("en", ["Ships sail.", "The harbour was closed because of the storm."]),
        ("de", ["Die Schiffe fahren in den Hafen, bevor der Sturm kommt."]),
        ("ha", ["Gwamnatin jihar ta bayyana cewa za ta gina sabbin makarantu a bana."]),
        ("hi", ["यह एक वाक्य है। यह दूसरा वाक्य है जो हिन्दी में लिखा गया है।"]),
        ("zh", ["这是一句话。这是第二句。"]),
        (UNKNOWN, []),
    ],
)
def test_the_language_of_most_of_the_text(language: str, texts: list[str]) -> None:
    """Short texts are judged together, and texts in another language do not outvote the rest."""
    assert language_of_texts(texts) == language
    if texts:
        assert language_of_texts([*["x " * 300 + text for text in texts], *texts * 40]) == language
