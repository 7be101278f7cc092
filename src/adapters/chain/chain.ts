import type { Address, Hex, PublicClient } from 'viem'
import { AppError } from '../../core/errors.ts'
import { createChainReader, loadViem, type ReadChain } from './reader.ts'

/** Reads one chain over its RPC; it never sends transactions. */
export type Chain = {
  /**
   * Verifies an EIP-191 signature. Plain accounts are verified without the RPC; contract wallets (ERC-1271) and
   * undeployed ones (ERC-6492) through it.
   * @throws AppError `unavailable` when the RPC fails, `misconfigured` without one.
   */
  verifySignature(question: SignatureQuestion): Promise<boolean>
  /**
   * Returns the ERC-20 balance of `owner` in the token's smallest unit.
   * @throws AppError `unavailable`, `misconfigured`.
   */
  readBalance(token: Address, owner: Address): Promise<bigint>
}
export type SignatureQuestion = { address: Address; message: string; signature: Hex }
type ChainOptions = { rpcUrl: string | undefined; chainId: number; timeoutMs?: number }

/** Enough gas to deploy a wallet and verify a passkey, and a limit for contracts that loop forever. */
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

/** Accepts only the canonical 65-byte form with a low `s` (EIP-2), so a signature cannot be altered and reused. */
async function isSignedByAccount({ address, message, signature }: SignatureQuestion): Promise<boolean> {
  const { isAddressEqual, recoverMessageAddress, size, slice } = await loadViem()
  if (size(signature) !== ECDSA_BYTES || BigInt(slice(signature, 32, 64)) > HALF_CURVE_ORDER) return false
  const signer = await recoverMessageAddress({ message, signature }).catch(() => null)
  return signer !== null && isAddressEqual(signer, address)
}

/** Runs the ERC-6492 validator in one `eth_call` without deploying it; the call leaves no state. */
async function isSignedByContract(
  client: PublicClient,
  { address, message, signature }: SignatureQuestion,
  isCounterfactual: boolean,
): Promise<boolean> {
  const viem = await loadViem()
  // An account with no code and no deployment data is a plain account, which was verified above.
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

/** Returns whether the contract reverted or ran out of gas; any other error is an RPC failure. */
function isRevert(error: unknown, viem: Awaited<ReturnType<typeof loadViem>>): boolean {
  if (error instanceof viem.ExecutionRevertedError) return true
  return error instanceof viem.RpcRequestError && /out of gas|revert|invalid opcode|invalid jump/i.test(error.details)
}
