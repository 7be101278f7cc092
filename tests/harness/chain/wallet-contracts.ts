import { type Address, concatHex, getCreate2Address, type Hex, padHex } from 'viem'
import { toInitCode } from './anvil.ts'

/** The deterministic deployment proxy of all chains, including anvil; its calldata is a salt and init code. */
export const CREATE2_FACTORY: Address = '0x4e59b44847b379578588920cA78FbF26c0B4956C'

/**
 * Returns the bytecode of a contract wallet (ERC-1271). For any selector it runs `isValidSignature(bytes32 hash, bytes
 * signature)` with a 65-byte signature of `owner`.
 */
export function ownedBy(owner: Address): Hex {
  return concatHex([
    '0x600435600052', //     PUSH1 04 CALLDATALOAD PUSH1 00 MSTORE            mem[00] = hash
    '0x60a43560001a602052', // PUSH1 a4 CALLDATALOAD PUSH1 00 BYTE PUSH1 20 MSTORE  mem[20] = v
    '0x606435604052', //     PUSH1 64 CALLDATALOAD PUSH1 40 MSTORE            mem[40] = r
    '0x608435606052', //     PUSH1 84 CALLDATALOAD PUSH1 60 MSTORE            mem[60] = s
    '0x602060006080600060015afa50', // STATICCALL(GAS, ecrecover, 00, 80, 00, 20) POP  mem[00] = signer
    '0x600051', //           PUSH1 00 MLOAD
    concatHex(['0x73', owner]), // PUSH20 owner
    '0x14', //               EQ
    '0x631626ba7e02', //     PUSH4 1626ba7e MUL                               the magic value, or 0
    '0x60e01b600052', //     PUSH1 e0 SHL PUSH1 00 MSTORE
    '0x60206000f3', //       RETURN(00, 20)
  ])
}

/** Wallets that reject every signature, by how they fail. */
export const REFUSING: Readonly<Record<string, Hex>> = {
  'answers another value': '0x63ffffffff60e01b60005260206000f3', // PUSH4 ffffffff, in the place of the magic value
  'answers nothing': '0x00', // STOP
  reverts: '0x60006000fd', // REVERT(00, 00)
  'runs an invalid instruction': '0xfe', // INVALID
  'never ends': '0x5b600056', // JUMPDEST PUSH1 00 JUMP
}

/** Accepts every signature after writing to storage: `SSTORE(00, 01)`, then the magic value. */
export const WRITING: Hex = '0x6001600055631626ba7e60e01b60005260206000f3'

/** A factory that writes to its own storage and deploys nothing: `SSTORE(00, 01) STOP`. */
export const WRITING_FACTORY: Hex = '0x600160005500'

/** Returns the address at which `CREATE2_FACTORY` deploys a wallet of `owner`, and the calldata that deploys it. */
export function counterfactual(owner: Address, salt: Hex): { address: Address; factoryData: Hex } {
  const bytecode = toInitCode(ownedBy(owner))
  const padded = padHex(salt, { size: 32 })
  return {
    address: getCreate2Address({ from: CREATE2_FACTORY, salt: padded, bytecode }),
    factoryData: concatHex([padded, bytecode]),
  }
}
