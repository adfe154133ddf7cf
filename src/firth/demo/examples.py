"""What the demo asks its models: pairs to compare, and a query to search for."""

PAIRS = (
    ("We must cut taxes for working families.", "Families who work deserve lower taxes."),
    ("The union of the states must be preserved.", "We shall keep the states together."),
    ("Our soldiers fought bravely in the war.", "The army showed courage in battle."),
    ("Unemployment has fallen to its lowest level.", "More people have jobs than ever before."),
    ("The treaty with Spain was ratified.", "An agreement with the Spanish crown was approved."),
    ("The bushfire destroyed several homes.", "Firefighters battled the blaze near the town."),
    ("Every child deserves a good education.", "Schools should prepare our children for work."),
    ("The police arrested two suspects.", "The court sentenced the man to prison."),
    ("The budget deficit is growing.", "The surplus will pay down the debt."),
    ("Congress should pass this bill.", "The philosopher was born in Athens."),
    ("The earthquake killed dozens of people.", "Interest rates were left unchanged."),
    ("The atom consists of a nucleus and electrons.", "We ask for peace among all nations."),
)
"""From alike to unrelated, in the words of the demo's corpus."""

EXPLAINED = (0, 5)
"""Which of the pairs are explained."""

QUERY = "How can we create more jobs?"
"""The question of the semantic search."""
