import {
  type Abi,
  type Address,
  createTestClient,
  encodeFunctionData,
  type Hex,
  http,
  publicActions,
  walletActions,
} from 'viem'
import { devAccount, startAnvil } from './anvil.ts'

export type TestChain = Awaited<ReturnType<typeof startTestChain>>

/** A contract call for `encodeFunctionData`. */
export type Call = { to: Address; abi: Abi; functionName: string; args: readonly unknown[]; from?: number }

/** A chain of our own whose clock, blocks and code the test decides. */
export async function startTestChain(chainId: number) {
  const anvil = await startAnvil(chainId)
  const client = createTestClient({ mode: 'anvil', transport: http(anvil.rpcUrl), pollingInterval: 20 })
    .extend(publicActions)
    .extend(walletActions)

  /** Sends without waiting for a block; the gas is given, so that what reverts is sent as well. */
  const submit = ({ to, from = 0, ...call }: Call): Promise<Hex> =>
    client.sendTransaction({
      account: devAccount(from),
      chain: null,
      to,
      data: encodeFunctionData(call),
      gas: 500_000n,
    })
  return {
    rpcUrl: anvil.rpcUrl,
    client,
    submit,
    /** Sends and waits until it is in a block, whether it succeeded or not. */
    async call(call: Call): Promise<Hex> {
      const hash = await submit(call)
      await client.waitForTransactionReceipt({ hash })
      return hash
    },
    /** Puts a contract at `address`, as if it had always been there. */
    putCode: (address: Address, bytecode: Hex) => client.setCode({ address, bytecode }),
    stop: anvil.stop,
    [Symbol.asyncDispose]: anvil.stop,
  }
}
