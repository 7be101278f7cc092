import { getAddress } from 'viem'

/** The part of ethers that parsing a sign-in message uses. Signatures are verified with viem. */
export const ethers = { getAddress }
