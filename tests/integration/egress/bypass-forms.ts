import { clientHello } from './client-hello.ts'

/**
 * An attempt to bypass a policy that allows `allowed.example`, `*.wild.example` and `raw.example:8443`. `first` is sent
 * immediately, with the agent's credentials for `{auth}`; `inside` is sent through the opened tunnel.
 */
export type BypassForm = { name: string; first: string; inside?: Buffer | string }

/** Addresses of names, for the resolver of a test. Names without an entry are public and not allowed. */
export const ADDRESSES: Readonly<Record<string, string[]>> = {
  'allowed.example': ['93.184.215.14'],
  'rebound.wild.example': ['93.184.215.14', '127.0.0.1'],
  'loopback.wild.example': ['127.0.0.1'],
  'zero.wild.example': ['0.0.0.0'],
  'private.wild.example': ['10.1.2.3'],
  'lan.wild.example': ['192.168.1.1'],
  'lan172.wild.example': ['172.16.5.5'],
  'metadata.wild.example': ['169.254.169.254'],
  'cgnat.wild.example': ['100.100.100.200'],
  'azure.wild.example': ['168.63.129.16'],
  'benchmark.wild.example': ['198.18.0.1'],
  'multicast.wild.example': ['224.0.0.1'],
  'broadcast.wild.example': ['255.255.255.255'],
  'v6-loopback.wild.example': ['::1'],
  'v6-unspecified.wild.example': ['::'],
  'mapped.wild.example': ['::ffff:127.0.0.1'],
  'compatible.wild.example': ['::7f00:1'],
  'nat64.wild.example': ['64:ff9b::7f00:1'],
  'nat64-local.wild.example': ['64:ff9b:1::a00:1'],
  'sixtofour.wild.example': ['2002:7f00:1::'],
  'teredo.wild.example': ['2001::1'],
  'unique-local.wild.example': ['fd00:ec2::254'],
  'link-local.wild.example': ['fe80::1'],
  'mixed.wild.example': ['93.184.215.14', 'fe80::1'],
  'nothing.wild.example': [],
  'ok.wild.example': ['93.184.215.14'],
  'raw.example': ['93.184.215.14'],
}

const AUTH = 'Proxy-Authorization: Basic {auth}\r\n'
const get = (url: string, host: string | null, more = '', after = '') =>
  `GET ${url} HTTP/1.1\r\n${host === null ? '' : `Host: ${host}\r\n`}${AUTH}${more}\r\n${after}`
const tunnel = (target: string, more = '') => `CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n${AUTH}${more}\r\n`
const post = (headers: string, body: string) =>
  `POST http://allowed.example/ HTTP/1.1\r\nHost: allowed.example\r\n${AUTH}${headers}\r\n${body}`
const EVIL = 'GET http://evil.example/EVIL HTTP/1.1\r\nHost: evil.example\r\n\r\n'

/** Notations of addresses that some resolver accepts. */
const LITERALS = [
  ...['127.0.0.1', '127.1', '2130706433', '0x7f000001', '0x7f.0.0.1', '0177.0.0.1', '017700000001', '127.0.0.1.'],
  ...['0', '0.0.0.0', '127.0.1', '１２７.0.0.1', '127。0。0。1', '10.0.0.1', '192.168.0.1', '172.31.255.255'],
  ...['169.254.169.254', '0xa9fea9fe', '2852039166', '100.64.0.1', '198.51.100.7', '192.0.2.1', '8.8.8.8'],
  ...['[::1]', '[::]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[0:0:0:0:0:ffff:a9fe:a9fe]', '[64:ff9b::7f00:1]'],
  ...['[fe80::1]', '[fe80::1%25eth0]', '[fd00::1]', '[2606:2800:21f:cb07:6820:80da:af6b:8b2c]', '[::127.0.0.1]'],
]

/** Host names that are not allowed, some similar to allowed ones. */
const NAMES = [
  ...['evil.example', 'allowed.example.evil.example', 'evilallowed.example', 'sub.allowed.example', 'wild.example'],
  ...['allowed.example@evil.example', 'evil.example#allowed.example', 'allowed.example%00.evil.example'],
  ...['allowed.example%2eevil.example', 'evil.example?allowed.example', 'evil.example\\.wild.example'],
  ...['evil.example\\@allowed.example', 'аllowed.example', 'allowed.examplе', 'xn--llowed-4nf.example', 'localhost'],
  ...['localhost.', 'metadata.google.internal', 'host.docker.internal', `${'a'.repeat(64)}.wild.example`],
  ...[`${'a.'.repeat(130)}wild.example`, '.wild.example', 'a..wild.example', '*.wild.example', 'evil.example..'],
  ...['dGhlLXNlY3JldA.tunnel.evil.example', 'allowed.example;evil.example', 'allowed.example,evil.example'],
]

const literalForms = LITERALS.flatMap((host): BypassForm[] => [
  { name: `plain to ${host}`, first: get(`http://${host}/EVIL`, host) },
  { name: `tunnel to ${host}`, first: tunnel(`${host}:443`), inside: clientHello({ names: [null] }) },
])
const nameForms = NAMES.flatMap((host): BypassForm[] => [
  { name: `plain to ${host.slice(0, 80)}`, first: get(`http://${host}/EVIL`, host) },
  {
    name: `tunnel to ${host.slice(0, 80)}`,
    first: tunnel(`${host}:443`),
    inside: clientHello({ names: [host.slice(0, 200)] }),
  },
])
const resolvedForms = Object.keys(ADDRESSES)
  .filter((host) => host.includes('.wild.') && host !== 'ok.wild.example')
  .flatMap((host): BypassForm[] => [
    { name: `plain to the address of ${host}`, first: get(`http://${host}/EVIL`, host) },
    { name: `tunnel to the address of ${host}`, first: tunnel(`${host}:443`), inside: clientHello({ names: [host] }) },
  ])

const portForms: BypassForm[] = [25, 22, 53, 8080, 8443, 3128, 0, 65_536, 65_979].flatMap((port) => [
  { name: `tunnel to port ${port}`, first: tunnel(`allowed.example:${port}`), inside: 'EVIL' },
  { name: `plain to port ${port}`, first: get(`http://allowed.example:${port}/EVIL`, `allowed.example:${port}`) },
])

const toAllowed = tunnel('allowed.example:443')
const tlsForms: BypassForm[] = [
  { name: 'another server name', first: toAllowed, inside: clientHello({ names: ['evil.example'] }) },
  { name: 'no server name', first: toAllowed, inside: clientHello({ names: [null] }) },
  { name: 'two server names', first: toAllowed, inside: clientHello({ names: ['allowed.example', 'evil.example'] }) },
  {
    name: 'a server name of another type',
    first: toAllowed,
    inside: clientHello({ names: ['evil.example'], nameType: 1 }),
  },
  {
    name: 'a server name after a NUL',
    first: toAllowed,
    inside: clientHello({ names: ['allowed.example\0evil.example'] }),
  },
  {
    name: 'an encrypted ClientHello',
    first: toAllowed,
    inside: clientHello({ names: ['allowed.example'], ech: true }),
  },
  {
    name: 'another name over small records',
    first: toAllowed,
    inside: clientHello({ names: ['evil.example'], recordBytes: 5 }),
  },
  { name: 'a server name that is an address', first: toAllowed, inside: clientHello({ names: ['127.0.0.1'] }) },
  { name: 'an empty server name', first: toAllowed, inside: clientHello({ names: [''] }) },
  { name: 'plain HTTP in a tunnel', first: toAllowed, inside: 'GET /EVIL HTTP/1.1\r\nHost: evil.example\r\n\r\n' },
  { name: 'SSH in a tunnel', first: toAllowed, inside: 'SSH-2.0-EVIL\r\n' },
  {
    name: 'SSLv2 in a tunnel',
    first: toAllowed,
    inside: Buffer.concat([Buffer.from([0x80, 0x2e, 1, 3, 1]), Buffer.from('EVIL')]),
  },
  {
    name: 'an alert before the ClientHello',
    first: toAllowed,
    inside: Buffer.concat([Buffer.from([21, 3, 1, 0, 2, 1, 0]), Buffer.from('EVIL')]),
  },
  {
    name: 'early data with another name',
    first: toAllowed + clientHello({ names: ['evil.example'] }).toString('latin1'),
  },
  {
    name: 'plain HTTP in a tunnel to port 80',
    first: tunnel('allowed.example:80'),
    inside: 'GET /EVIL HTTP/1.1\r\nHost: evil.example\r\n\r\n',
  },
  {
    name: 'another server name on a raw port',
    first: tunnel('raw.example:8443'),
    inside: clientHello({ names: ['evil.example'] }),
  },
  { name: 'a proxy behind the allowed host', first: toAllowed, inside: 'CONNECT evil.example:443 HTTP/1.1\r\n\r\n' },
]

const headForms: BypassForm[] = [
  { name: 'no credentials', first: 'GET http://allowed.example/EVIL HTTP/1.1\r\nHost: allowed.example\r\n\r\n' },
  {
    name: 'a wrong password',
    first: get('http://allowed.example/EVIL', 'allowed.example').replace('{auth}', 'YWdlbnQ6d3Jvbmc='),
  },
  { name: 'two credentials', first: get('http://allowed.example/EVIL', 'allowed.example', AUTH) },
  { name: 'another Host header', first: get('http://allowed.example/EVIL', 'evil.example') },
  { name: 'two Host headers', first: get('http://allowed.example/', 'allowed.example', 'Host: evil.example\r\n') },
  { name: 'a Host header with another port', first: get('http://allowed.example/EVIL', 'allowed.example:8080') },
  { name: 'a Host header with a user', first: get('http://allowed.example/', 'allowed.example@evil.example') },
  {
    name: 'CONNECT with another Host header',
    first: `CONNECT allowed.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n${AUTH}\r\n`,
    inside: clientHello({ names: ['evil.example'] }),
  },
  { name: 'origin form', first: get('/EVIL', 'evil.example') },
  { name: 'asterisk form', first: `OPTIONS * HTTP/1.1\r\nHost: evil.example\r\n${AUTH}\r\n` },
  { name: 'a scheme-relative URL', first: get('//evil.example/EVIL', 'evil.example') },
  { name: 'an https URL', first: get('https://evil.example/EVIL', 'evil.example') },
  { name: 'an ftp URL', first: get('ftp://evil.example/EVIL', 'evil.example') },
  { name: 'a file URL', first: get('file:///etc/passwd', null) },
  { name: 'a URL with one slash', first: get('http:/evil.example/EVIL', 'evil.example') },
  { name: 'a URL with three slashes', first: get('http:///evil.example/EVIL', 'evil.example') },
  { name: 'a URL with backslashes', first: get('http:\\\\evil.example\\EVIL', 'evil.example') },
  { name: 'a tab in the target', first: get('http://evil.example\t/EVIL', 'evil.example') },
  { name: 'a space in the target', first: get('http://evil.example /EVIL', 'evil.example') },
  { name: 'CONNECT with a path', first: tunnel('evil.example:443/allowed.example:443') },
  { name: 'CONNECT with a user', first: tunnel('allowed.example:443@evil.example:443') },
  { name: 'CONNECT with two ports', first: tunnel('evil.example:443:443') },
  { name: 'CONNECT with a scheme', first: tunnel('https://evil.example:443') },
  { name: 'CONNECT with a body', first: `${tunnel('allowed.example:443', 'Content-Length: 4\r\n')}EVIL` },
  { name: 'a lower-case method', first: get('http://evil.example/EVIL', 'evil.example').replace('GET', 'get') },
  { name: 'HTTP/0.9', first: 'GET http://evil.example/EVIL\r\n\r\n' },
  { name: 'HTTP/2 preface', first: 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' },
  {
    name: 'a folded header',
    first: get('http://allowed.example/', 'allowed.example', 'X-A: 1\r\n Host: evil.example\r\n'),
  },
  {
    name: 'a bare line feed in a header',
    first: get('http://allowed.example/', 'allowed.example', 'X-A: 1\nHost: evil.example\r\n'),
  },
  {
    name: 'a bare carriage return in a header',
    first: get('http://allowed.example/', 'allowed.example', 'X-A: 1\rHost: evil.example\r\n'),
  },
  { name: 'a NUL in a header', first: get('http://allowed.example/', 'allowed.example', 'X-A: \0evil.example\r\n') },
  {
    name: 'a space before a colon',
    first: get('http://allowed.example/', 'allowed.example', 'Host : evil.example\r\n'),
  },
]

const smugglingForms: BypassForm[] = [
  { name: 'a pipelined request', first: get('http://allowed.example/', 'allowed.example') + EVIL },
  { name: 'a second request behind a body', first: post('Content-Length: 2\r\n', `ok${EVIL}`) },
  {
    name: 'a second request behind chunks',
    first: post('Transfer-Encoding: chunked\r\n', `2\r\nok\r\n0\r\n\r\n${EVIL}`),
  },
  { name: 'both lengths', first: post('Content-Length: 4\r\nTransfer-Encoding: chunked\r\n', `0\r\n\r\n${EVIL}`) },
  { name: 'two lengths', first: post('Content-Length: 0\r\nContent-Length: 90\r\n', EVIL) },
  { name: 'a list of lengths', first: post('Content-Length: 0, 90\r\n', EVIL) },
  { name: 'a length with a sign', first: post('Content-Length: +90\r\n', EVIL) },
  { name: 'a length in hex', first: post('Content-Length: 0x5a\r\n', EVIL) },
  { name: 'an obfuscated coding', first: post('Transfer-Encoding: xchunked\r\n', EVIL) },
  {
    name: 'two codings',
    first: post('Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n', `0\r\n\r\n${EVIL}`),
  },
  { name: 'a coding with a tab', first: post('Transfer-Encoding:\tchunked, identity\r\n', `0\r\n\r\n${EVIL}`) },
  {
    name: 'a chunk with an extension',
    first: post('Transfer-Encoding: chunked\r\n', `2;evil=EVIL\r\nok\r\n0\r\n\r\n${EVIL}`),
  },
  { name: 'a chunk size with a line feed only', first: post('Transfer-Encoding: chunked\r\n', `0\n\n${EVIL}`) },
  {
    name: 'a chunk that is longer than its size',
    first: post('Transfer-Encoding: chunked\r\n', `2\r\nokEVIL\r\n0\r\n\r\n`),
  },
  { name: 'trailers', first: post('Transfer-Encoding: chunked\r\n', '0\r\nHost: evil.example\r\n\r\n') },
  {
    name: 'a coding that Connection names',
    first: post('Connection: transfer-encoding\r\nTransfer-Encoding: chunked\r\n', `0\r\n\r\n${EVIL}`),
  },
  {
    name: 'an upgrade',
    first: get('http://allowed.example/', 'allowed.example', 'Connection: upgrade\r\nUpgrade: evil\r\n', EVIL),
  },
  {
    name: 'forwarding headers of a proxy',
    first: get(
      'http://allowed.example/',
      'allowed.example',
      'Proxy-Connection: keep-alive, evil\r\nConnection: keep-alive\r\n',
      EVIL,
    ),
  },
]

export const BYPASS_FORMS: readonly BypassForm[] = [
  ...literalForms,
  ...nameForms,
  ...resolvedForms,
  ...portForms,
  ...tlsForms,
  ...headForms,
  ...smugglingForms,
]
