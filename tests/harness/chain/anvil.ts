import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Address, createPublicClient, createWalletClient, type Hex, http } from 'viem'
import { type HDAccount, mnemonicToAccount } from 'viem/accounts'

/** The package's launcher requires Node.js; the binary is in a separate package for each platform. */
const BINARY = join(
  dirname(fileURLToPath(import.meta.resolve('@foundry-rs/anvil/package.json'))),
  '..',
  `anvil-${process.platform}-${process.arch === 'x64' ? 'amd64' : process.arch}`,
  'bin',
  'anvil',
)
const LOCAL = ['--host', '127.0.0.1', '--port', '0']
/** Ends the chain when the pipe closes, which happens however the tests end. */
const UNTIL_STDIN_ENDS = '"$0" "$@" & cat >/dev/null; kill $!; wait $!'
const MNEMONIC = 'test test test test test test test test test test test junk'

/** True if anvil is installed for this platform; tests that need it are skipped otherwise. */
export const hasAnvil = existsSync(BINARY)

const accounts = new Map<number, HDAccount>()

/** Returns one of anvil's funded accounts. Deriving it from the mnemonic takes 40 ms. */
export function devAccount(index: number): HDAccount {
  const account = accounts.get(index) ?? mnemonicToAccount(MNEMONIC, { addressIndex: index })
  accounts.set(index, account)
  return account
}

export type Anvil = AsyncDisposable & {
  rpcUrl: string
  /** Deploys a contract with the bytecode `runtime`. */
  deploy(runtime: Hex): Promise<Address>
  send(to: Address, data: Hex): Promise<void>
  codeAt(address: Address): Promise<Hex | undefined>
  storageAt(address: Address, slot: Hex): Promise<Hex | undefined>
  blockNumber(): Promise<bigint>
  stop(): Promise<void>
}

/** Starts a local chain in memory on a free port. */
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

/**
 * Returns init code that deploys `runtime`: `PUSH1 length, DUP1, PUSH1 9, RETURNDATASIZE, CODECOPY, RETURNDATASIZE,
 * RETURN`.
 */
export function toInitCode(runtime: Hex): Hex {
  const length = (runtime.length - 2) / 2
  if (length > 255) throw new Error('The code is too long for PUSH1')
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
