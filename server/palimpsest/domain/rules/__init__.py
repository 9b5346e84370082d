"""How users rule and change their minds: the forms of each language, and which rule takes the place of which."""
