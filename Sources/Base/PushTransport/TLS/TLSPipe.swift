private import COpenSSL

/// The data that OpenSSL's callbacks read and write during a call. It is separate from the engine, because the engine's
/// variables must not change while one of its methods uses them.
@safe
struct TLSPipe: ~Copyable {
    /// The ciphertext that OpenSSL may read. Valid only during ``TLSEngine/receive(_:plaintext:)``.
    var input: UnsafeRawPointer?
    var inputCount = 0
    var output: ByteQueue
    var verifyFailure: VerifyFailure?
    /// The new sessions that the server sent. They are stored after the call.
    var newSessions: [TLSSavedSession] = []

    struct VerifyFailure {
        let code: CInt
        let depth: Int
        let certificate: X509Certificate?
    }

    init(output: consuming ByteQueue) {
        unsafe input = nil
        self.output = output
    }

    /// The index under which an SSL stores the address of its pipe.
    static let index: CInt = COpenSSL_new_ssl_index()

    fileprivate static func of(_ ssl: OpaquePointer?) -> UnsafeMutablePointer<TLSPipe>? {
        unsafe SSL_get_ex_data(ssl, index)?.assumingMemoryBound(to: TLSPipe.self)
    }
}

/// The BIO that OpenSSL uses instead of a socket.
enum TLSBIO {
    // Created once, then only read.
    nonisolated(unsafe) private static let method: OpaquePointer = {
        guard let method = unsafe BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "carillon memory") else {
            fatalError("out of memory")
        }
        unsafe BIO_meth_set_read(method, readFromPipe)
        unsafe BIO_meth_set_write(method, writeToPipe)
        unsafe BIO_meth_set_ctrl(method, controlPipe)
        return unsafe method
    }()

    static func make(_ pipe: UnsafeMutablePointer<TLSPipe>) -> OpaquePointer {
        guard let bio = unsafe BIO_new(method) else { fatalError("out of memory") }
        unsafe BIO_set_data(bio, pipe)
        unsafe BIO_set_init(bio, 1)
        return unsafe bio
    }
}

private func readFromPipe(_ bio: OpaquePointer?, _ target: UnsafeMutablePointer<CChar>?, _ room: CInt) -> CInt {
    guard let target = unsafe target, room > 0, let data = unsafe BIO_get_data(bio) else { return -1 }
    let pipe = unsafe data.assumingMemoryBound(to: TLSPipe.self)
    unsafe BIO_clear_flags(bio, BIO_FLAGS_READ | BIO_FLAGS_SHOULD_RETRY)
    guard let source = unsafe pipe.pointee.input, unsafe pipe.pointee.inputCount > 0 else {
        unsafe BIO_set_flags(bio, BIO_FLAGS_READ | BIO_FLAGS_SHOULD_RETRY)
        return -1
    }
    let count = unsafe min(Int(room), pipe.pointee.inputCount)
    unsafe UnsafeMutableRawPointer(target).copyMemory(from: source, byteCount: count)
    unsafe pipe.pointee.input = source + count
    unsafe pipe.pointee.inputCount -= count
    return CInt(count)
}

private func writeToPipe(_ bio: OpaquePointer?, _ source: UnsafePointer<CChar>?, _ count: CInt) -> CInt {
    guard let source = unsafe source, count > 0, let data = unsafe BIO_get_data(bio) else { return -1 }
    let pipe = unsafe data.assumingMemoryBound(to: TLSPipe.self)
    unsafe pipe.pointee.output.append(UnsafeRawBufferPointer(start: source, count: Int(count)))
    return count
}

private func controlPipe(
    _ bio: OpaquePointer?, _ command: CInt, _ number: Int, _ pointer: UnsafeMutableRawPointer?
) -> Int {
    // A flush always succeeds, because the owner sends `output` later. Other commands are not supported.
    command == BIO_CTRL_FLUSH ? 1 : 0
}

/// Records the first failure of a chain verification for the error text. It does not change OpenSSL's result.
func noteVerifyFailure(_ isValid: CInt, _ store: OpaquePointer?) -> CInt {
    guard isValid != 1 else { return isValid }
    let ssl = unsafe X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx())
    guard let pipe = unsafe TLSPipe.of(ssl.map { OpaquePointer($0) }) else { return isValid }
    if unsafe pipe.pointee.verifyFailure == nil {
        let certificate = unsafe X509_STORE_CTX_get_current_cert(store)
        unsafe pipe.pointee.verifyFailure = TLSPipe.VerifyFailure(
            code: X509_STORE_CTX_get_error(store), depth: Int(X509_STORE_CTX_get_error_depth(store)),
            certificate: certificate.map { unsafe X509Certificate(sharing: $0) })
    }
    return isValid
}

/// Stores a copy of the session, because a connection that ends badly marks its own session as not resumable.
func noteNewSession(_ ssl: OpaquePointer?, _ session: OpaquePointer?) -> CInt {
    if let pipe = unsafe TLSPipe.of(ssl), let copy = unsafe SSL_SESSION_dup(session) {
        // A server may send any number of tickets. Keep only the latest ones.
        if unsafe pipe.pointee.newSessions.count >= 4 {
            unsafe _ = pipe.pointee.newSessions.removeFirst()
        }
        unsafe pipe.pointee.newSessions.append(TLSSavedSession(owning: copy))
    }
    return 0
}
