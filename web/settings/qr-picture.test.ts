import { expect, test } from 'bun:test'
import jsQR from 'jsqr'
import { createElement } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import { QrPicture } from './qr-picture.tsx'

const PIXELS = 4
const WHITE = 255

/** Decodes the drawn QR code. */
function read(markup: string): string | undefined {
  const side = Number(/viewBox="0 0 (\d+)/.exec(markup)?.[1]) * PIXELS
  const picture = new Uint8ClampedArray(side * side * 4).fill(WHITE)
  for (const [, x, y] of markup.matchAll(/M(\d+) (\d+)h1v1h-1z/g)) {
    for (let line = 0; line < PIXELS; line++) {
      const start = ((Number(y) * PIXELS + line) * side + Number(x) * PIXELS) * 4
      for (let at = start; at < start + PIXELS * 4; at++) if (at % 4 !== 3) picture[at] = 0
    }
  }
  return jsQR(picture, side, side)?.data
}

test.each([
  ['a word', 'STEAD'],
  [
    'the address of a second factor',
    'otpauth://totp/Stead:ad%C3%A4@example.com?secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP&issuer=Stead',
  ],
  ['150 letters', 'a'.repeat(150)],
  ['858 letters', 'x'.repeat(858)],
  ['letters of other alphabets', 'Grüße, Аня ♥'],
])('QrPicture encodes %s', (_, text) => {
  expect(read(renderToStaticMarkup(createElement(QrPicture, { text, label: 'Code' })))).toBe(text)
})
