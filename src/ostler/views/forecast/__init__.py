"""How long the waiting tasks take, what they cost, and how many of them a provider's window allows."""
