"""A sample of SCiFi's that tests of commands share, without a model's output."""

RIVERS = {
    "id": "rivers",
    "group": "q1",
    "system": "m",
    "query": "What do rivers carry?",
    "paragraph": "Dams store water. Barges carry coal.",
    "citations": [{"position": 16, "document": 1}, {"position": 35, "document": 2}],
    "documents": [{"text": "Dams store water."}, {"text": "Barges carry coal."}],
}
