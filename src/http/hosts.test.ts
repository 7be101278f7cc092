import { expect, test } from 'bun:test'
import { createHostRule } from './hosts.ts'

const rule = createHostRule({
  names: ['Stead.example', 'app.stead.example', 'nas.lan'],
  agentsDomain: 'agents.stead.example',
})

test.each([
  'stead.example',
  'STEAD.Example',
  'stead.example.',
  'stead.example:8443',
  'stead.example.:8443',
  'app.stead.example',
  'nas.lan:3000',
  'localhost',
  'localhost:3000',
  'LOCALHOST.:3000',
  'ada-1.agents.stead.example',
  'ada-1.agents.stead.example.:3000',
  '127.0.0.1:3000',
  '192.168.1.20',
  '[::1]',
  '[::1]:3000',
  '[2001:DB8::7]:3000',
  '[::ffff:127.0.0.1]',
  'host.docker.internal:3001',
  'host.containers.internal:3001',
])('createHostRule, for %s, returns served', (host) => {
  expect(rule(host)).toBe('served')
  expect(rule(host)).toBe('served')
})

test.each([
  '',
  ' ',
  '.',
  ':3000',
  'evil.example',
  'evil.example:3000',
  'stead.example.evil.example',
  'evil-stead.example',
  'evilagents.stead.example',
  'agents.stead.example',
  'agents.stead.example.evil.example',
  'www.stead.example',
  'a.localhost',
  'localhost.evil.example',
  'stead.example..',
  'stead.example:80:80',
  'stead.example:80x',
  'stead.example/',
  'stead.example#',
  'stead.example@evil.example',
  'evil.example@stead.example',
  'stead example',
  '127.0.0.1.evil.example',
  '127.0.0.1.nip.io',
  '[::1',
  '::1',
  '[::1].evil.example',
  '[evil.example]',
  '[::1%25eth0]',
  '0x7f.1',
  '2130706433',
])('createHostRule, for %j, returns misdirected', (host) => {
  expect(rule(host)).toBe('misdirected')
})

test('createHostRule returns misdirected when a request has two Host headers, even if both are ours', () => {
  expect(rule('stead.example, stead.example')).toBe('doubled')
  expect(rule('stead.example, evil.example')).toBe('doubled')
})

test('createHostRule accepts a request of HTTP/1.0 without a host', () => {
  expect(rule(null)).toBe('served')
})
