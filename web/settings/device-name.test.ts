import { expect, test } from 'bun:test'
import { deviceName } from './device-name.ts'

test('deviceName prefers the more specific browser name', () => {
  const chrome = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0 Safari/537.36'
  expect(deviceName(chrome)).toBe('Chrome on Linux')
  expect(deviceName(`${chrome} Edg/141.0`)).toBe('Edge on Linux')
  const phone =
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605 Version/18.0 Mobile Safari/604.1'
  expect(deviceName(phone)).toBe('Safari on iPhone')
  expect(deviceName('curl/8.5.0')).toBe('curl')
  expect(deviceName('python-requests/2.32')).toBe('python-requests')
  expect(deviceName(null)).toBe('Unknown device')
})
