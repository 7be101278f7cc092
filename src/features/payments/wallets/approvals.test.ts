import { expect, test } from 'bun:test'
import { mailingPlatform } from '../../../../tests/harness/mailing-platform.ts'
import { USDC } from '../../../../tests/harness/paying-platform.ts'
import { json } from '../../../../tests/harness/requests.ts'

test('a payment that waits for its owner is mailed, and those that follow at once are not', async () => {
  // No chain listens there: payments that wait for approval need none.
  const environment = { BASE_RPC_URL: 'http://127.0.0.1:9', USDC_ADDRESS: USDC }
  await using it = await mailingPlatform({ environment })
  const { cookie } = await it.signIn('ada@example.com', 'network')
  await it.web.request('/api/wallet', json('POST', { action: 'create' }, cookie))
  await it.web.request('/api/wallet/policy', json('PATCH', { approvalAbove: '5' }, cookie))
  const send = (amount: number) =>
    it.web.request('/api/wallet/send', json('POST', { recipient: `0x${'b'.repeat(40)}`, amount }, cookie))
  expect((await send(6)).status).toBe(202)
  const subject = 'Payment approval needed'
  const mail = await it.arrival('ada@example.com', subject)
  expect(mail.text).toContain('See the recipient and amount on the wallets page')
  expect(mail.text).not.toContain('0xbbbb')
  expect((await send(7)).status).toBe(202)
  it.clock.advance(11 * 60_000)
  expect((await send(8)).status).toBe(202)
  await it.arrival('ada@example.com', subject, 2)
  expect(it.mail.received.filter((one) => one.subject.includes(subject))).toHaveLength(2)
})
