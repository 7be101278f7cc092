// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// A stable coin of six decimals, as a payment chain has them: ERC-20, and TIP-20's transfer with a memo.
contract TestToken {
    string public constant name = "Test path USD";
    string public constant symbol = "pathUSD";
    uint8 public constant decimals = 6;
    mapping(address => uint256) public balanceOf;

    event Transfer(address indexed from, address indexed to, uint256 amount);
    event TransferWithMemo(address indexed from, address indexed to, uint256 amount, bytes32 indexed memo);

    function mint(address to, uint256 amount) external {
        balanceOf[to] += amount;
        emit Transfer(address(0), to, amount);
    }

    function transfer(address to, uint256 amount) public returns (bool) {
        require(balanceOf[msg.sender] >= amount, "insufficient balance");
        balanceOf[msg.sender] -= amount;
        balanceOf[to] += amount;
        emit Transfer(msg.sender, to, amount);
        return true;
    }

    function transferWithMemo(address to, uint256 amount, bytes32 memo) external {
        transfer(to, amount);
        emit TransferWithMemo(msg.sender, to, amount, memo);
    }

    /// Two payments in one transaction.
    function transferTwice(address to, uint256 amount) external {
        transfer(to, amount);
        transfer(to, amount);
    }
}
