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

/** Starts a local chain whose clock, blocks and contracts the test controls. */
export async function startTestChain(chainId: number) {
  const anvil = await startAnvil(chainId)
  const client = createTestClient({ mode: 'anvil', transport: http(anvil.rpcUrl), pollingInterval: 20 })
    .extend(publicActions)
    .extend(walletActions)

  /**
   * Sends a transaction without waiting for a block. The gas limit is fixed, because estimating it fails for calls that
   * revert.
   */
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
    /** Sends a transaction and waits until it is in a block, successful or reverted. */
    async call(call: Call): Promise<Hex> {
      const hash = await submit(call)
      await client.waitForTransactionReceipt({ hash })
      return hash
    },
    /** Sets the code at `address` without a deployment. */
    putCode: (address: Address, bytecode: Hex) => client.setCode({ address, bytecode }),
    stop: anvil.stop,
    [Symbol.asyncDispose]: anvil.stop,
  }
}
