import { expect, test } from 'bun:test'
import { z } from 'zod'
import { QueuedSplit, SplitDetail } from '../../../src/features/payments/splits/schemas.ts'
import { hasAnvil } from '../../harness/chain/anvil.ts'
import { createAgent, signUp } from '../../harness/client.ts'
import { fund, readToken, startTokenChain, USDC } from '../../harness/paying-platform.ts'
import { bearer, json, read } from '../../harness/requests.ts'
import { roundsOf } from '../../harness/rounds.ts'
import { openInstallation, SERVICE_KEY } from '../../harness/server.ts'
import { until } from '../../harness/until.ts'

/** Number of recipients, 40 in `bun run stress economy`. The amount divides into whole cents. */
const RECIPIENTS = roundsOf('SPLIT_RECIPIENTS', 16)
const KILLS_AFTER = RECIPIENTS < 40 ? [1, 6] : [1, 8, 20]
const DOLLAR = 1_000_000n
const SHARE = (80n * DOLLAR) / BigInt(RECIPIENTS)
const OPERATOR = bearer(SERVICE_KEY)

test.skipIf(!hasAnvil)(
  `a split of ${RECIPIENTS} recipients that is killed ${KILLS_AFTER.length} times pays each recipient once`,
  async () => {
    await using chain = await startTokenChain(8453, USDC)
    const environment = { BASE_RPC_URL: chain.rpcUrl, USDC_ADDRESS: USDC, ADMIN_EMAILS: 'ada@example.com' }
    await using installation = await openInstallation({ environment })
    let program = await installation.start()
    const post = async (path: string, body: unknown) => {
      const response = await fetch(`${program.urls.backend}${path}`, json('POST', body, OPERATOR))
      if (!response.ok) throw new Error(`${path}: ${await response.text()}`)
      return response
    }
    const ada = await signUp(program.urls.web)
    const { user } = await read(z.object({ user: z.object({ id: z.string() }) }), ada.get('/api/auth/session'))
    const whose = { userId: user.id, agentId: await createAgent(ada, { model: 'openai/gpt-4o-mini' }) }
    const { address } = await read(z.object({ address: z.string() }), post('/api/underground/wallets', whose))
    await fund(chain, USDC, address, 100n * DOLLAR)
    const payees = Array.from({ length: RECIPIENTS }, (_, index) => `0x${(index + 1).toString(16).padStart(40, 'c')}`)
    const recipients = payees.map((payee) => ({ address: payee, share: 100 / RECIPIENTS }))
    const order = { ...whose, fromAddress: address, name: 'May', totalAmount: '80', recipients }
    const { splitId } = await read(QueuedSplit, post('/api/underground/splits', order))
    const paid = () => Promise.all(payees.map((payee) => readToken(chain, USDC, payee)))
    const countPaid = async () => (await paid()).filter((amount) => amount > 0n).length
    const status = async () => {
      const path = `${program.urls.backend}/api/underground/splits/${splitId}`
      return (await read(z.object({ split: SplitDetail }), fetch(path, { headers: OPERATOR }))).split
    }
    const seen: number[] = []
    for (const least of KILLS_AFTER) {
      await until(`${least} payments`, async () => (await countPaid()) >= least)
      await program.kill()
      seen.push(await countPaid())
      program = await installation.start()
    }
    expect(seen.some((count) => count > 0 && count < RECIPIENTS)).toBe(true)
    const split = await until('the end of the split', async () => {
      const now = await status()
      return now.completedAt === null ? null : now
    })
    expect(split).toMatchObject({ status: 'settled', reason: null })
    expect(new Set(split.recipients.map(({ transactionHash }) => transactionHash)).size).toBe(RECIPIENTS)
    expect(await paid()).toEqual(payees.map(() => SHARE))
    expect(await readToken(chain, USDC, address)).toBe(20n * DOLLAR)
    await program.stop()
  },
  300_000,
)
