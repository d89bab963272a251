from __future__ import annotations

from server.addresses import Addresses


def test_a_host_has_so_many_connections_and_gets_them_back_whatever_became_of_them():
    addresses = Addresses(2)
    assert [addresses.enter(address) for address in ("a", "a", "b", "a")] == [True, True, True, False]
    addresses.leave("a")
    assert addresses.enter("a") is False
    for _ in range(3):
        addresses.leave("a")
    assert [addresses.enter("a") for _ in range(3)] == [True, True, False]


def test_peers_within_the_process_have_no_address_and_are_not_counted():
    addresses = Addresses(1)
    assert all(addresses.enter("") for _ in range(5))
    addresses.leave("")
