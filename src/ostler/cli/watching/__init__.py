"""The screen of `ostler watch`: what it shows, what its keys do, and the terminal that it borrows."""
