// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

struct Attestation {
    bytes32 uid;
    bytes32 schema;
    uint64 time;
    uint64 expirationTime;
    uint64 revocationTime;
    bytes32 refUID;
    address recipient;
    address attester;
    bool revocable;
    bytes data;
}

/// What is read of the Ethereum Attestation Service and of Coinbase's index of it, with attestations that anybody may write.
contract TestAttestations {
    mapping(bytes32 => Attestation) private attestations;
    mapping(address => mapping(bytes32 => bytes32)) private uids;

    function write(Attestation calldata attestation) external {
        attestations[attestation.uid] = attestation;
    }

    function index(address recipient, bytes32 schema, bytes32 uid) external {
        uids[recipient][schema] = uid;
    }

    function getAttestation(bytes32 uid) external view returns (Attestation memory) {
        return attestations[uid];
    }

    function getAttestationUid(address recipient, bytes32 schema) external view returns (bytes32) {
        return uids[recipient][schema];
    }
}
