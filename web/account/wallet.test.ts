import { expect, test } from 'bun:test'
import { SiweMessage } from 'siwe'
import { getAddress } from 'viem'
import { signInMessage } from './wallet.ts'

test('signInMessage writes a message that an EIP-4361 parser accepts', () => {
  const address = getAddress('0xa0cf798816d4b9b9866b5330eea46a18382f251e')
  const facts = {
    address,
    chainId: 8453,
    nonce: 'abcdefgh12',
    host: 'stead.example:3000',
    origin: 'https://stead.example:3000',
  }
  const parsed = new SiweMessage(signInMessage(facts, new Date('2026-01-02T03:04:05.006Z')))
  expect(parsed).toMatchObject({
    address,
    chainId: 8453,
    nonce: 'abcdefgh12',
    domain: 'stead.example:3000',
    uri: 'https://stead.example:3000',
    issuedAt: '2026-01-02T03:04:05.006Z',
  })
})
