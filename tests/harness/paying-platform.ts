import { type Address, parseAbi } from 'viem'
import type { Clock } from '../../src/core/clock.ts'
import { write } from '../../src/db/write.ts'
import { insertAgent } from '../../src/features/agents/registry/agents.ts'
import { createWallet } from '../../src/features/payments/wallets/create.ts'
import { TOKEN_CODE } from './chain/contract-code.ts'
import { startTestChain, type TestChain } from './chain/test-chain.ts'
import { type TestOptions, testPlatform } from './platform.ts'

export const USDC: Address = '0x1111111111111111111111111111111111111111'
export const PATH_USD: Address = '0x2222222222222222222222222222222222222222'
/** Recipient of test payments. */
export const PAYEE: Address = '0x4444444444444444444444444444444444444444'

const TOKEN_ABI = parseAbi([
  'function mint(address to, uint256 amount)',
  'function balanceOf(address owner) view returns (uint256)',
])

/** Starts a chain with the payment token. */
export async function startTokenChain(chainId: number, token: Address): Promise<TestChain> {
  const chain = await startTestChain(chainId)
  await chain.putCode(token, TOKEN_CODE)
  return chain
}

export function readToken(chain: TestChain, token: Address, owner: string): Promise<bigint> {
  const address: Address = `0x${owner.slice(2)}`
  return chain.client.readContract({ address: token, abi: TOKEN_ABI, functionName: 'balanceOf', args: [address] })
}

/** Funds an address with tokens and gas. */
export async function fund(chain: TestChain, token: Address, owner: string, amount: bigint): Promise<void> {
  const address: Address = `0x${owner.slice(2)}`
  await chain.client.setBalance({ address, value: 10n ** 18n })
  await chain.call({ to: token, abi: TOKEN_ABI, functionName: 'mint', args: [address, amount] })
}

/** Creates a platform whose wallets pay in USDC on `rpcUrl`, and Ada with an agent that has a wallet. */
export async function openPaying(rpcUrl: string | null, options: TestOptions = {}) {
  const test = testPlatform({
    ...options,
    environment: { USDC_ADDRESS: USDC, ...(rpcUrl !== null && { BASE_RPC_URL: rpcUrl }), ...options.environment },
  })
  const { user, cookie } = await test.signIn('ada@example.com', 'network')
  const agentId = await addAgent(test, user.id)
  const { wallet } = await createWallet(test.platform, { userId: user.id, agentId })
  return { ...test, user, cookie, agentId, wallet }
}

export type Paying = Awaited<ReturnType<typeof openPaying>>

type Platform = Pick<ReturnType<typeof testPlatform>, 'platform'> & { clock: Clock }

export async function addAgent({ platform }: Platform, ownerId: string): Promise<string> {
  const agent = await write(platform.db, (tx) =>
    insertAgent(platform, tx, {
      ownerId,
      name: 'Ada',
      model: 'm',
      plan: 'network',
      aiProvider: 'openrouter',
      status: 'running',
    }),
  )
  return agent.id
}
