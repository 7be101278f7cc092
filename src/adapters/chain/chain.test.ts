import { expect, test } from 'bun:test'
import { devAccount, hasAnvil, startAnvil } from '../../../tests/harness/chain/anvil.ts'
import { createChain } from './chain.ts'

const OWNER = devAccount(0).address
/** Bytecode of a token whose every call, such as `balanceOf`, returns 0x03e8 (1,000). */
const TOKEN_CODE = '0x6103e860005260206000f3' // PUSH2 03e8 PUSH1 00 MSTORE RETURN(00, 20)

test.skipIf(!hasAnvil)('readBalance returns the balance of a token owner', async () => {
  await using anvil = await startAnvil(8453)
  const token = await anvil.deploy(TOKEN_CODE)
  const chain = createChain({ rpcUrl: anvil.rpcUrl, chainId: 8453 })
  expect(await chain.readBalance(token, OWNER)).toBe(1000n)
  await expect(chain.readBalance(OWNER, OWNER)).rejects.toMatchObject({ kind: 'unavailable' })
  const other = createChain({ rpcUrl: anvil.rpcUrl, chainId: 1 })
  await expect(other.readBalance(token, OWNER)).rejects.toMatchObject({ kind: 'unavailable' })
})

test('readBalance rejects when the RPC is missing or unreachable', async () => {
  const without = createChain({ rpcUrl: undefined, chainId: 8453 })
  await expect(without.readBalance(OWNER, OWNER)).rejects.toMatchObject({ kind: 'misconfigured' })
  const down = createChain({ rpcUrl: 'http://127.0.0.1:1', chainId: 8453 })
  await expect(down.readBalance(OWNER, OWNER)).rejects.toMatchObject({ kind: 'unavailable' })
})
