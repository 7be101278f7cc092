/** Internal addresses, one of each kind. */
export const INSIDE_V4 = [
  '127.0.0.1',
  '127.8.9.10',
  '10.0.0.1',
  '10.255.255.254',
  '172.16.0.1',
  '172.31.255.1',
  '192.168.0.1',
  '192.168.255.254',
  '169.254.169.254',
  '100.64.0.1',
  '168.63.129.16',
  '0.0.0.0',
  '198.18.0.1',
  '192.0.0.192',
  '224.0.0.1',
  '240.0.0.1',
  '255.255.255.255',
]

export const INSIDE_V6 = [
  '::',
  '::1',
  'fe80::1',
  'fec0::1',
  'fc00::1',
  'fd12:3456:789a::1',
  'ff02::1',
  '100::1',
  '2001:db8::1',
  '2001:2::1',
  '3fff::1',
  '5f00::1',
  '4000::1',
]

/** Returns every notation of `address` in a URL. */
export function spell(address: string): string[] {
  const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number)
  const whole = ((a << 24) | (b << 16) | (c << 8) | d) >>> 0
  const hex = (value: number, digits = 0) => value.toString(16).padStart(digits, '0')
  const high = hex((a << 8) | b)
  const low = hex((c << 8) | d)
  const octal = (value: number) => `0${value.toString(8)}`
  const inverse = (value: number) => hex(value ^ 0xffff)
  return [
    address,
    `${address}.`,
    String(whole),
    `0x${hex(whole)}`,
    `0X${hex(whole, 8).toUpperCase()}`,
    octal(whole),
    [a, b, c, d].map(octal).join('.'),
    [a, b, c, d].map((part) => `0x${hex(part)}`).join('.'),
    `${octal(a)}.0x${hex(b)}.${c}.${d}`,
    `${a}.${(b << 16) | (c << 8) | d}`,
    `${a}.${b}.${(c << 8) | d}`,
    `0000${octal(a)}.${b}.${c}.${d}`,
    address.replace(/\d/g, (digit) => String.fromCodePoint(0xff10 + Number(digit))),
    address.replace(/\d/g, (digit) => (digit === '0' ? '⓪' : String.fromCodePoint(0x2460 + Number(digit) - 1))),
    address.replaceAll('.', '。'),
    address.replaceAll('.', '．'),
    address.replaceAll('.', '｡'),
    address.replace(/\d/g, (digit) => `%3${digit}`),
    address.replaceAll('.', '%2e'),
    `[::ffff:${address}]`,
    `[::ffff:${high}:${low}]`,
    `[0:0:0:0:0:FFFF:${high}:${low}]`,
    `[::${high}:${low}]`,
    `[::${address}]`,
    `[::ffff:0:${address}]`,
    `[64:ff9b::${high}:${low}]`,
    `[64:ff9b::${address}]`,
    `[64:ff9b:1::${high}:${low}]`,
    `[2002:${high}:${low}::]`,
    `[2002:${high}:${low}::1]`,
    `[2001:0:${high}:${low}::1]`,
    `[2001:0:4136:e378:8000:63bf:${inverse((a << 8) | b)}:${inverse((c << 8) | d)}]`,
  ]
}

/**
 * Returns URLs of all kinds that must never be connected to; `inside.example` and the like resolve to internal
 * addresses.
 */
export function hostileUrls(): string[] {
  const hosts = [...INSIDE_V4.flatMap(spell), ...INSIDE_V6.map((address) => `[${address}]`)]
  const names = [
    'localhost',
    'LOCALHOST',
    'localhost.',
    'a.localhost',
    'inside.example',
    'inside.example.',
    'xn--nside-5pa.example',
    'ïnside.example',
    'ｌｏｃａｌｈｏｓｔ',
    'metadata.google.internal',
    'mixed.example',
    'mixed6.example',
    'empty.example',
  ]
  return [
    ...hosts.map((host) => `http://${host}/`),
    ...hosts.filter((_, index) => index % 3 === 0).map((host) => `https://${host}/latest/meta-data/`),
    ...names.flatMap((name) => [`http://${name}/`, `https://${name}/`, `http://${name}:8080/`]),
    ...['a@', 'a:b@', ':b@', '%40@', 'pages.example@', 'pages.example:80@', 'a%00b@'].flatMap((user) => [
      `http://${user}127.0.0.1/`,
      `http://${user}pages.example/`,
    ]),
    ...[
      1, 21, 22, 23, 25, 53, 79, 81, 110, 111, 139, 443_0, 445, 2375, 3306, 5432, 6379, 9200, 11_211, 27_017, 65_535,
    ].map((port) => `http://pages.example:${port}/`),
    ...[
      '[fe80::1%25eth0]',
      '[fe80::1%eth0]',
      '[::1%25lo]',
      '[::1%lo]',
      '[::1',
      '::1',
      '[]',
      '[::1]x',
      '127.0.0.1:80:80',
    ].map((host) => `http://${host}/`),
    ...[
      'file:///etc/passwd',
      'data:text/html,<p>hello',
      'blob:http://127.0.0.1/x',
      'ftp://127.0.0.1/',
      'gopher://127.0.0.1:6379/_x',
      'unix:///var/run/docker.sock',
      's3://bucket/key',
      'ws://127.0.0.1/',
      'javascript:alert(1)',
      'about:blank',
      'jar:http://127.0.0.1!/',
      'dict://127.0.0.1:11211/',
      'ldap://127.0.0.1/',
      'view-source:http://127.0.0.1/',
      '//127.0.0.1/',
      '/etc/passwd',
      'http:',
      'http://',
      'http:///',
      '',
      ' ',
      '\0',
      'not a url',
      'http:\\\\127.0.0.1\\',
      'http:/127.0.0.1/',
      'http:127.0.0.1',
      'http://127.0.0.1\\@pages.example/',
      'http://127.0.0.1#@pages.example/',
      'http://127.0.0.1?@pages.example/',
      'http://127.0.0.1\t/',
      'ht\ntp://127.0.0.1/',
      'http://127.0.0.1%00.pages.example/',
      'http://127.1%23.pages.example/',
      'http://256.256.256.256/',
      'http://1.2.3.4.5/',
      `http://pages.example/${'a'.repeat(9000)}`,
    ],
  ]
}
