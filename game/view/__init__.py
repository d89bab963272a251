"""What is drawn: takes a `Frame` and stores, changes nothing, and knows nothing about the network."""
