private import COpenSSL
import PushLoop

/// Arithmetic on the curve P-256 with reused numbers. Confined to its owner.
@safe
package final class CurveArithmetic {
    private let group: OpaquePointer
    private let context: OpaquePointer
    private let scalar: OpaquePointer
    private let coordinate: OpaquePointer
    private let own: OpaquePointer
    private let peer: OpaquePointer
    private let shared: OpaquePointer

    package init() {
        guard let group = unsafe EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1),
            let context = unsafe BN_CTX_new(), let scalar = unsafe BN_secure_new(),
            let coordinate = unsafe BN_secure_new(),
            let own = unsafe EC_POINT_new(group), let peer = unsafe EC_POINT_new(group),
            let shared = unsafe EC_POINT_new(group)
        else { fatalError("OpenSSL has no P-256, or there is no memory") }
        unsafe (self.group, self.context) = unsafe (group, context)
        unsafe (self.scalar, self.coordinate) = unsafe (scalar, coordinate)
        unsafe (self.own, self.peer, self.shared) = unsafe (own, peer, shared)
        unsafe BN_set_flags(scalar, BN_FLG_CONSTTIME)
    }

    deinit {
        unsafe BN_clear_free(scalar)
        unsafe BN_clear_free(coordinate)
        unsafe EC_POINT_clear_free(own)
        unsafe EC_POINT_clear_free(peer)
        unsafe EC_POINT_clear_free(shared)
        unsafe BN_CTX_free(context)
        unsafe EC_GROUP_free(group)
    }

    /// Makes a key pair and agrees on a secret with the owner of a public key. False if that key is not a point on the
    /// curve.
    ///
    /// - Parameters:
    ///   - publicKey: An uncompressed point, 65 bytes.
    ///   - privateKey: 32 bytes; nil for a random key.
    ///   - ownKey: Receives the new public key, 65 bytes.
    ///   - secret: Receives the secret, 32 bytes.
    package func agree(
        with publicKey: UnsafeRawBufferPointer, privateKey: [UInt8]?, ownKey: UnsafeMutablePointer<UInt8>,
        secret: UnsafeMutablePointer<UInt8>
    ) -> Bool {
        guard unsafe read(publicKey) else { return false }
        choose(privateKey)
        let isMade =
            unsafe EC_POINT_mul(group, own, scalar, nil, nil, context) == 1
            && EC_POINT_point2oct(group, own, POINT_CONVERSION_UNCOMPRESSED, ownKey, 65, context) == 65
        let isAgreed =
            unsafe EC_POINT_mul(group, shared, nil, peer, scalar, context) == 1
            && EC_POINT_get_affine_coordinates(group, shared, coordinate, nil, context) == 1
            && BN_bn2binpad(coordinate, secret, 32) == 32
        unsafe BN_clear(scalar)
        unsafe BN_clear(coordinate)
        // Overwrites the point, which is as secret as its coordinate.
        unsafe EC_POINT_copy(shared, EC_GROUP_get0_generator(group))
        precondition(isMade && isAgreed, "OpenSSL fails on P-256: \(OpenSSLErrors.drain().text)")
        return true
    }

    /// Sets the private key.
    private func choose(_ privateKey: [UInt8]?) {
        if let privateKey {
            unsafe BN_bin2bn(privateKey, CInt(privateKey.count), scalar)
            return
        }
        repeat {
            let result = unsafe BN_priv_rand_range(scalar, EC_GROUP_get0_order(group))
            precondition(result == 1, "OpenSSL cannot generate random numbers")
        } while unsafe BN_is_zero(scalar) == 1
    }

    /// Reads the point of the peer. False if it is not on the curve. The curve has no points of small order.
    private func read(_ publicKey: UnsafeRawBufferPointer) -> Bool {
        guard publicKey.count == 65, unsafe publicKey[0] == 4 else { return false }
        let bytes = unsafe publicKey.assumingMemoryBound(to: UInt8.self).baseAddress
        let isRead = unsafe EC_POINT_oct2point(group, peer, bytes, 65, context) == 1
        if !isRead { OpenSSLErrors.clear() }
        return isRead
    }

    // MARK: Checks

    private static let common = Locked(Holder())

    /// Whether the bytes are an uncompressed point on the curve. Thread-safe.
    static func isPoint(_ bytes: UnsafeRawBufferPointer) -> Bool {
        common.withLock { unsafe $0.curve.read(bytes) }
    }

    private struct Holder: ~Copyable {
        let curve = CurveArithmetic()
    }
}

/// The public keys of browsers.
package enum P256Point {
    /// Whether the bytes are an uncompressed point on P-256: 65 bytes that begin with 4.
    package static func isValid(_ bytes: [UInt8]) -> Bool {
        unsafe bytes.withUnsafeBytes { unsafe CurveArithmetic.isPoint($0) }
    }
}
