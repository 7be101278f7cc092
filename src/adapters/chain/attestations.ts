import type { Address, Hex } from 'viem'
import { createChainReader, loadViem, notConfigured } from './reader.ts'

/**
 * A statement that one account made about another, as stored by the Ethereum Attestation Service; `expiresAt` is null
 * when it never expires.
 */
export type Attestation = {
  uid: Hex
  schema: Hex
  recipient: Address
  attester: Address
  expiresAt: Date | null
  isRevoked: boolean
}

export type Attestations = {
  /** Returns null for an unknown id. @throws AppError `unavailable`. */
  find(uid: Hex): Promise<Attestation | null>
  /**
   * Returns the id of Coinbase's attestation that `owner` has a Coinbase account, or null.
   * @throws AppError `unavailable`.
   */
  findCoinbaseUid(owner: Address): Promise<Hex | null>
}
type AttestationsOptions = { rpcUrl: string | undefined; chainId: number; easAddress: string }

/** Coinbase's indexer, attester and schema on Base, as published in coinbase/verifications. */
const COINBASE_INDEXER = '0x2c7eE1E5f416dfF40054c27A62f7B357C4E8619C'
export const COINBASE_ATTESTER = '0x357458739F90461b99789350868CD7CF330Dd7EE'
export const COINBASE_ACCOUNT_SCHEMA = '0xf8b05c79f090979bf4a80270aba232dff11a10d9ca55c4f88de95317970f0de9'
const NO_UID: Hex = `0x${'0'.repeat(64)}`

const EAS_ABI = [
  'struct Attestation { bytes32 uid; bytes32 schema; uint64 time; uint64 expirationTime; uint64 revocationTime; bytes32 refUID; address recipient; address attester; bool revocable; bytes data; }',
  'function getAttestation(bytes32 uid) view returns (Attestation)',
] as const
const INDEXER_ABI = ['function getAttestationUid(address recipient, bytes32 schema) view returns (bytes32)'] as const

export function createAttestations({ rpcUrl, chainId, easAddress }: AttestationsOptions): Attestations {
  const read = rpcUrl ? createChainReader({ rpcUrl, chainId }) : null
  const requireReader = () => {
    if (!read) throw notConfigured('Verification by attestation', ['BASE_RPC_URL'])
    return read
  }
  return {
    async find(uid) {
      const ask = requireReader()
      const { getAddress, parseAbi } = await loadViem()
      const found = await ask((client) =>
        client.readContract({
          address: getAddress(easAddress.toLowerCase()),
          abi: parseAbi(EAS_ABI),
          functionName: 'getAttestation',
          args: [uid],
        }),
      )
      if (found.uid === NO_UID || found.uid.toLowerCase() !== uid.toLowerCase()) return null
      const { schema, recipient, attester } = found
      const expiresAt = found.expirationTime === 0n ? null : new Date(Number(found.expirationTime) * 1000)
      return { uid: found.uid, schema, recipient, attester, expiresAt, isRevoked: found.revocationTime !== 0n }
    },
    async findCoinbaseUid(owner) {
      const ask = requireReader()
      const { parseAbi } = await loadViem()
      const uid = await ask((client) =>
        client.readContract({
          address: COINBASE_INDEXER,
          abi: parseAbi(INDEXER_ABI),
          functionName: 'getAttestationUid',
          args: [owner, COINBASE_ACCOUNT_SCHEMA],
        }),
      )
      return uid === NO_UID ? null : uid
    },
  }
}
