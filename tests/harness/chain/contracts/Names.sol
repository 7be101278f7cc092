// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// What is asked of the ENS universal resolver, with names that anybody may write. It believes a primary name unchecked.
contract TestNames {
    mapping(bytes => string) private primaries;
    mapping(bytes32 => address) private forwards;

    error ResolverNotFound(bytes name);
    error OffchainLookup(address sender, string[] urls, bytes callData, bytes4 callbackFunction, bytes extraData);

    function write(bytes calldata account, string calldata primary, bytes32 node, address forward) external {
        primaries[account] = primary;
        forwards[node] = forward;
    }

    /// A name that ends in `.web` is one that only a web page knows (ERC-3668).
    function reverseWithGateways(bytes calldata account, uint256, string[] calldata urls)
        external view returns (string memory, address, address)
    {
        string memory primary = primaries[account];
        bytes memory text = bytes(primary);
        if (text.length > 4 && text[text.length - 4] == "." && text[text.length - 3] == "w") {
            revert OffchainLookup(address(this), urls, "", this.write.selector, "");
        }
        return (primary, address(0), address(0));
    }

    function resolveWithGateways(bytes calldata name, bytes calldata data, string[] calldata)
        external view returns (bytes memory, address)
    {
        address forward = forwards[bytes32(data[4:36])];
        if (forward == address(0)) revert ResolverNotFound(name);
        return (abi.encode(forward), address(this));
    }
}
