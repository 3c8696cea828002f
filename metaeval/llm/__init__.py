"""Questions to a chat model over any OpenAI-compatible endpoint: asked and paid once, kept, read strictly."""
