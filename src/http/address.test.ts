import { expect, test } from 'bun:test'
import { addressKey, clientAddress, parseRanges } from './address.ts'

const CLIENT = '198.51.100.7'
const SPOOFED = '192.0.2.66'

test.each<[name: string, socket: string, forwarded: string | null, trusted: string[], expected: string]>([
  ['no proxy is trusted: the header is the caller’s own claim', CLIENT, SPOOFED, [], CLIENT],
  ['the socket is not a trusted proxy', CLIENT, SPOOFED, ['10.0.0.0/8'], CLIENT],
  ['a trusted proxy tells the caller', '10.0.0.1', CLIENT, ['10.0.0.0/8'], CLIENT],
  ['a trusted proxy without the header', '10.0.0.1', null, ['10.0.0.0/8'], '10.0.0.1'],
  ['an empty header', '10.0.0.1', '', ['10.0.0.0/8'], '10.0.0.1'],
  ['a spoofed address stands left of the true one', '10.0.0.1', `${SPOOFED}, ${CLIENT}`, ['10.0.0.0/8'], CLIENT],
  ['many spoofed ones do', '10.0.0.1', `10.0.0.9, ${SPOOFED}, 127.0.0.1,${CLIENT}`, ['10.0.0.0/8'], CLIENT],
  ['two proxies in a row', '10.0.0.1', `${CLIENT}, 10.0.0.2`, ['10.0.0.0/8'], CLIENT],
  [
    'a spoofed trusted address does not hide the caller',
    '10.0.0.1',
    `${SPOOFED}, ${CLIENT}, 10.0.0.2`,
    ['10.0.0.0/8'],
    CLIENT,
  ],
  ['only proxies are named', '10.0.0.1', '10.0.0.3, 10.0.0.2', ['10.0.0.0/8'], '10.0.0.1'],
  ['what is no address ends the search', '10.0.0.1', `${CLIENT}, unknown`, ['10.0.0.0/8'], '10.0.0.1'],
  ['garbage left of the caller does not matter', '10.0.0.1', `<script>, ${CLIENT}`, ['10.0.0.0/8'], CLIENT],
  ['a single trusted address', '192.0.2.1', CLIENT, ['192.0.2.1'], CLIENT],
  ['its neighbour is not it', '192.0.2.2', SPOOFED, ['192.0.2.1'], '192.0.2.2'],
  ['a proxy that the socket names in IPv6 form', '::ffff:10.0.0.1', CLIENT, ['10.0.0.0/8'], CLIENT],
  ['an IPv6 proxy and caller', '2001:db8::1', '2001:db8:ffff::7', ['2001:db8::/64'], '2001:db8:ffff::7'],
  ['an IPv4 range does not hold IPv6 addresses', '2001:db8::1', SPOOFED, ['0.0.0.0/0'], '2001:db8::1'],
  ['no range holds what is no address', 'unix', SPOOFED, ['0.0.0.0/0', '::/0'], 'unix'],
])('%s', (_name, socket, forwarded, trusted, expected) => {
  expect(clientAddress(socket, forwarded, parseRanges(trusted))).toBe(expected)
})

test.each([
  ['203.0.113.7', '203.0.113.7'],
  ['::ffff:203.0.113.7', '203.0.113.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::'],
  ['2001:db8:1:2::', '2001:db8:1:2::'],
  ['2001:DB8:1:2:0:0:0:1', '2001:db8:1:2::'],
  ['::1', '::'],
  [null, 'unknown'],
  ['', 'unknown'],
  ['localhost', 'unknown'],
])('addressKey, for %p, returns %s', (address, key) => {
  expect(addressKey(address)).toBe(key)
})

test('addressKey returns the network when an address has a zone', () => {
  expect(addressKey('fe80::1%eth0')).toStartWith('fe80::')
})
