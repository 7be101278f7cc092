import type { Address, Hex, PublicClient } from 'viem'
import { AppError } from '../../core/errors.ts'
import { createChainReader, loadViem, type ReadChain } from './reader.ts'

/** Reads of one chain over its RPC. Nothing is ever sent to it. */
export type Chain = {
  /**
   * Did whoever holds `address` sign `message` (EIP-191)? A plain account is answered without the RPC; then a wallet
   * that is a contract (ERC-1271), or is to become one (ERC-6492), is asked.
   * @throws AppError `unavailable` when the chain must be asked and cannot, `misconfigured` without an RPC.
   */
  verifySignature(question: SignatureQuestion): Promise<boolean>
  /** What `owner` holds of an ERC-20 token, in its smallest unit. @throws AppError `unavailable`, `misconfigured`. */
  readBalance(token: Address, owner: Address): Promise<bigint>
}
export type SignatureQuestion = { address: Address; message: string; signature: Hex }
export type ChainOptions = { rpcUrl: string | undefined; chainId: number; timeoutMs?: number }

/** Enough to deploy a wallet and let it verify a passkey; an endless loop ends here. */
const VERIFICATION_GAS = 10_000_000n
const HALF_CURVE_ORDER = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n
const ECDSA_BYTES = 65
const ERC_6492_SUFFIX = '6492'.repeat(16)

export function createChain(options: ChainOptions): Chain {
  const { rpcUrl, ...reading } = options
  const read = rpcUrl ? createChainReader({ rpcUrl, ...reading }) : null
  const ask: ReadChain = async (question) => {
    if (!read) throw new AppError('misconfigured', 'BASE_RPC_URL is not set')
    return read(question)
  }

  return {
    async verifySignature(question) {
      if (await isSignedByAccount(question)) return true
      const isCounterfactual = question.signature.toLowerCase().endsWith(ERC_6492_SUFFIX)
      if (!isCounterfactual && !options.rpcUrl) return false
      return ask((client) => isSignedByContract(client, question, isCounterfactual))
    },
    readBalance: async (token, owner) => {
      const { erc20Abi } = await loadViem()
      return ask((client) =>
        client.readContract({ address: token, abi: erc20Abi, functionName: 'balanceOf', args: [owner] }),
      )
    },
  }
}

/** One signature has one form: `s` in its lower half (EIP-2), 65 bytes. The other forms of it are refused. */
async function isSignedByAccount({ address, message, signature }: SignatureQuestion): Promise<boolean> {
  const { isAddressEqual, recoverMessageAddress, size, slice } = await loadViem()
  if (size(signature) !== ECDSA_BYTES || BigInt(slice(signature, 32, 64)) > HALF_CURVE_ORDER) return false
  const signer = await recoverMessageAddress({ message, signature }).catch(() => null)
  return signer !== null && isAddressEqual(signer, address)
}

/** One `eth_call` of the validator of ERC-6492, which is not deployed: whatever it does is forgotten after it. */
async function isSignedByContract(
  client: PublicClient,
  { address, message, signature }: SignatureQuestion,
  isCounterfactual: boolean,
): Promise<boolean> {
  const viem = await loadViem()
  // Without code and without a way to deploy any it is a plain account, which has been asked.
  if (!isCounterfactual && !(await client.getCode({ address }))) return false
  const data = viem.encodeDeployData({
    abi: viem.erc6492SignatureValidatorAbi,
    bytecode: viem.erc6492SignatureValidatorByteCode,
    args: [address, viem.hashMessage(message), signature],
  })
  try {
    const answer = await client.call({ data, gas: VERIFICATION_GAS })
    if (answer.data === '0x01') return true
    if (answer.data === '0x00') return false
    throw new Error('it gave an answer that cannot be read')
  } catch (error) {
    if (error instanceof viem.BaseError && error.walk((cause) => isRevert(cause, viem))) return false
    throw error
  }
}

/** Did the contract refuse, or use up its gas? Anything else is the RPC's trouble and says nothing of the signature. */
function isRevert(error: unknown, viem: Awaited<ReturnType<typeof loadViem>>): boolean {
  if (error instanceof viem.ExecutionRevertedError) return true
  return error instanceof viem.RpcRequestError && /out of gas|revert|invalid opcode|invalid jump/i.test(error.details)
}
