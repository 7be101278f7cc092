import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Address, createPublicClient, createWalletClient, type Hex, http } from 'viem'
import { type HDAccount, mnemonicToAccount } from 'viem/accounts'

/** The package's own starter wants Node.js; the program itself is in a package beside it, one for each machine. */
const BINARY = join(
  dirname(fileURLToPath(import.meta.resolve('@foundry-rs/anvil/package.json'))),
  '..',
  `anvil-${process.platform}-${process.arch === 'x64' ? 'amd64' : process.arch}`,
  'bin',
  'anvil',
)
const LOCAL = ['--host', '127.0.0.1', '--port', '0']
/** However the tests end, their end of the pipe is closed by that, and the chain goes with them. */
const UNTIL_STDIN_ENDS = '"$0" "$@" & cat >/dev/null; kill $!; wait $!'
const MNEMONIC = 'test test test test test test test test test test test junk'

/** Is there an anvil for this machine? Tests that need one are skipped otherwise, and say so. */
export const hasAnvil = existsSync(BINARY)

const accounts = new Map<number, HDAccount>()

/** Accounts that anvil gives money to, by number. To come from the words to one of them takes 40 ms. */
export function devAccount(index: number): HDAccount {
  const account = accounts.get(index) ?? mnemonicToAccount(MNEMONIC, { addressIndex: index })
  accounts.set(index, account)
  return account
}

export type Anvil = AsyncDisposable & {
  rpcUrl: string
  /** Deploys a contract whose code is `runtime`. */
  deploy(runtime: Hex): Promise<Address>
  send(to: Address, data: Hex): Promise<void>
  codeAt(address: Address): Promise<Hex | undefined>
  storageAt(address: Address, slot: Hex): Promise<Hex | undefined>
  blockNumber(): Promise<bigint>
  stop(): Promise<void>
}

/** A real chain of our own, in memory, on a free port. */
export async function startAnvil(chainId: number): Promise<Anvil> {
  const child = Bun.spawn(['sh', '-c', UNTIL_STDIN_ENDS, BINARY, '--chain-id', String(chainId), ...LOCAL], {
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'ignore',
  })
  const rpcUrl = await readUrl(child.stdout)
  const transport = http(rpcUrl)
  const reader = createPublicClient({ transport, pollingInterval: 20 })
  const writer = createWalletClient({ transport, account: devAccount(9) })
  const mined = (hash: Hex) => reader.waitForTransactionReceipt({ hash })
  const stop = async () => {
    await child.stdin.end()
    await child.exited
  }
  return {
    rpcUrl,
    async deploy(runtime) {
      const hash = await writer.deployContract({ abi: [], bytecode: toInitCode(runtime), chain: null })
      const { contractAddress } = await mined(hash)
      if (!contractAddress) throw new Error('The contract was not deployed')
      return contractAddress
    },
    async send(to, data) {
      await mined(await writer.sendTransaction({ to, data, chain: null }))
    },
    codeAt: (address) => reader.getCode({ address }),
    storageAt: (address, slot) => reader.getStorageAt({ address, slot }),
    blockNumber: () => reader.getBlockNumber({ cacheTime: 0 }),
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

/** `PUSH1 length, DUP1, PUSH1 9, RETURNDATASIZE, CODECOPY, RETURNDATASIZE, RETURN`: deploys the bytes behind it. */
export function toInitCode(runtime: Hex): Hex {
  const length = (runtime.length - 2) / 2
  if (length > 255) throw new Error('PUSH1 cannot say how long this code is')
  return `0x60${length.toString(16).padStart(2, '0')}8060093d393df3${runtime.slice(2)}`
}

async function readUrl(output: ReadableStream<Uint8Array>): Promise<string> {
  let text = ''
  const decoder = new TextDecoder()
  for await (const bytes of output) {
    text += decoder.decode(bytes, { stream: true })
    const port = /Listening on 127\.0\.0\.1:(\d+)/.exec(text)?.[1]
    if (port) return `http://127.0.0.1:${port}`
  }
  throw new Error(`anvil did not start: ${text}`)
}
