private import COpenSSL
import Glibc

/// The side of the connection that an engine implements.
package enum TLSRole: Sendable {
    /// A client. `serverName` is a host name or an IP address; the server's certificate must be valid for it.
    /// Connections with the same name and the same `resumptionKey` share sessions.
    case client(serverName: String, resumptionKey: String = "")
    case server
}

package enum TLSEngineState: Sendable {
    /// The handshake is in progress. Can transition to: established, closed, failed.
    case handshaking
    /// Plaintext can be sent and received. Can transition to: inputEnded, closed, failed.
    case established
    /// The peer has sent close_notify. Plaintext can still be sent, because each side ends alone (RFC 8446, section
    /// 6.1). Can transition to: closed, failed.
    case inputEnded
    /// This side has sent close_notify. Nothing more is received or written.
    case closed
    /// An error was thrown; every further call throws it again. `output` may contain the alert for the peer.
    case failed
}

/// A TLS connection without a socket: it consumes and produces ciphertext and plaintext as bytes. Confined to its loop.
///
/// The owner passes the received bytes to `receive` and sends the content of `output`, also after an error, because the
/// alert for the peer is there.
///
/// - Important: `receive` must not be called from within its own `plaintext` closure. `write` and `close` may be.
@safe
package final class TLSEngine {
    /// The maximum size of plaintext in a record.
    private static let recordSize = 16 * 1024
    /// The limit of output that a peer may cause, for example with key updates, without reading it.
    private static let provokedLimit = 64 * 1024
    /// The number of records after which the key is changed. It is far below the 2^24.5 records that are safe with
    /// AES-GCM (RFC 8446, section 5.5). OpenSSL does not count them.
    private static let recordsPerKey = 1 << 23

    package private(set) var state = TLSEngineState.handshaking
    /// The properties of the session, set when the handshake has completed.
    package private(set) var session: TLSSessionInfo?

    private let context: TLSContext
    private let serverName: String?
    private let resumptionKey: String?
    private let ssl: OpaquePointer
    private let pipe: UnsafeMutablePointer<TLSPipe>
    private var failure: TLSError?
    private var firstByte: UInt8?
    private var isReceiving = false
    private var hasSentCloseNotify = false
    private var provoked = 0
    private var recordsWithKey = 0

    /// Creates an engine.
    ///
    /// - Parameter keepsBuffers: Whether the engine keeps its buffers while there is nothing in them. They are about
    ///   100 KiB, which is too much for a server with thousands of idle connections.
    package init(context: TLSContext, role: TLSRole, keepsBuffers: Bool = true) throws(TLSError) {
        var name: String?
        var key: String?
        if case .client(let serverName, let resumptionKey) = role {
            let checked = try TLSName(serverName)
            name = checked.text
            // The name is part of the key, because a resumed session is not verified against the name again.
            key = "\(checked.text)\u{0}\(resumptionKey)"
        }
        precondition((name == nil) == context.isServer, "the TLS context is for the other side of the connection")
        self.context = context
        serverName = name
        resumptionKey = key
        unsafe ssl = context.makeSSL()
        unsafe pipe = .allocate(capacity: 1)
        unsafe pipe.initialize(
            to: TLSPipe(output: ByteQueue(keepingCapacity: keepsBuffers ? ByteQueue.burstCapacity : 0)))
        if !keepsBuffers {
            unsafe _ = SSL_ctrl(ssl, SSL_CTRL_MODE, Int(SSL_MODE_RELEASE_BUFFERS), nil)
            unsafe SSL_set_default_read_buffer_len(ssl, Self.recordSize)
        }
        unsafe SSL_set_ex_data(ssl, TLSPipe.index, pipe)
        let bio = unsafe TLSBIO.make(pipe)
        // One BIO serves both directions. The SSL takes over the only reference.
        unsafe SSL_set_bio(ssl, bio, bio)
        if context.isServer {
            unsafe SSL_set_accept_state(ssl)
        } else {
            unsafe SSL_set_connect_state(ssl)
            try expect(TLSName(name ?? ""))
            resume()
        }
    }

    deinit {
        unsafe SSL_free(ssl)
        unsafe pipe.deinitialize(count: 1)
        unsafe pipe.deallocate()
    }

    /// The ciphertext to be sent. The owner consumes the bytes that it has sent.
    package var output: ByteQueue {
        _read { yield unsafe pipe.pointee.output }
        _modify { yield unsafe &pipe.pointee.output }
    }

    /// Whether plaintext can be sent.
    package var canWrite: Bool { state == .established || state == .inputEnded }

    /// Starts the handshake. The first message of a client is then in ``output``.
    package func start() throws(TLSError) {
        guard state == .handshaking, !context.isServer else { return }
        try shakeHands()
    }

    /// Processes ciphertext and passes each piece of plaintext in it to `plaintext`, in order, before it returns.
    ///
    /// If the bytes are invalid, the plaintext before the error is passed on first, and then the error is thrown.
    package func receive(
        _ ciphertext: UnsafeRawBufferPointer, plaintext: (UnsafeRawBufferPointer) -> Void
    ) throws(TLSError) {
        if let failure { throw failure }
        guard state != .closed, state != .inputEnded, ciphertext.count > 0 else { return }
        precondition(!isReceiving, "TLSEngine.receive called from within itself")
        isReceiving = true
        if firstByte == nil { firstByte = unsafe ciphertext[0] }
        unsafe pipe.pointee.input = ciphertext.baseAddress
        unsafe pipe.pointee.inputCount = ciphertext.count
        defer {
            unsafe pipe.pointee.input = nil
            unsafe pipe.pointee.inputCount = 0
            isReceiving = false
        }
        if state == .handshaking {
            try shakeHands()
        }
        guard state == .established else { return }
        // Not a part of the engine, so that an idle connection does not hold it.
        let record = UnsafeMutableRawPointer.allocate(byteCount: Self.recordSize, alignment: 16)
        defer { unsafe record.deallocate() }
        while state == .established, unsafe try readRecord(into: record, plaintext) {}
    }

    /// Processes the end of the socket's input.
    package func receiveEnd() throws(TLSError) {
        if let failure { throw failure }
        switch state {
        case .handshaking:
            throw fail(TLSError(.truncated, message: "\(peer) closed the connection during the TLS handshake"))
        case .established:
            throw fail(
                TLSError(
                    .truncated, message: "\(peer) closed the connection without a TLS close_notify: data may be missing"
                ))
        case .inputEnded, .closed, .failed:
            break
        }
    }

    /// Encrypts all bytes into ``output``.
    package func write(_ plaintext: UnsafeRawBufferPointer) throws(TLSError) {
        switch state {
        case .established, .inputEnded: break
        case .handshaking:
            throw TLSError(.notEstablished, message: "cannot write before the TLS handshake has completed")
        case .closed: throw TLSError(.closed, message: "cannot write after TLS was closed")
        case .failed: throw failure ?? TLSError(.closed, message: "TLS has failed")
        }
        var position = 0
        while position < plaintext.count {
            var written = 0
            OpenSSLErrors.clear()
            let result = unsafe SSL_write_ex(
                ssl, plaintext.baseAddress! + position, plaintext.count - position, &written)
            guard result == 1 else { throw fail(explain(unsafe SSL_get_error(ssl, result))) }
            position += written
            recordsWithKey += 1
        }
        if recordsWithKey >= Self.recordsPerKey { updateKeys() }
    }

    /// Sends close_notify to the peer. May be called twice, and in any state.
    package func close() {
        switch state {
        case .established, .inputEnded: sendCloseNotify()
        case .handshaking, .closed, .failed: break
        }
        if state != .failed { state = .closed }
    }

    /// Changes the write key, which TLS 1.3 requires before the key is worn out. `write` does this automatically in
    /// time. With `askingPeer`, the peer changes its key as well.
    package func updateKeys(askingPeer: Bool = false) {
        guard canWrite, session?.protocolVersion == "TLSv1.3" else { return }
        OpenSSLErrors.clear()
        unsafe _ = SSL_key_update(ssl, askingPeer ? SSL_KEY_UPDATE_REQUESTED : SSL_KEY_UPDATE_NOT_REQUESTED)
        unsafe _ = SSL_do_handshake(ssl)
        OpenSSLErrors.clear()
        recordsWithKey = 0
    }

    // MARK: Handshake

    private func expect(_ name: TLSName) throws(TLSError) {
        OpenSSLErrors.clear()
        let isSet: Bool
        if name.isAddress {
            isSet = unsafe X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name.text) == 1
        } else {
            // Certificates no longer carry host names in the common name (RFC 9525, section 2).
            unsafe SSL_set_hostflags(
                ssl, CUnsignedInt(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT))
            isSet = unsafe SSL_set1_host(ssl, name.text) == 1 && COpenSSL_set_server_name(ssl, name.text) == 1
        }
        guard isSet else {
            throw TLSError(
                .invalidConfiguration,
                message: "\(printable(name.text)) cannot be verified as a server name: \(OpenSSLErrors.drain().text)")
        }
    }

    private func resume() {
        guard let resumptionKey, let saved = context.sessions.take(for: resumptionKey) else { return }
        guard let copy = unsafe SSL_SESSION_dup(saved.pointer) else { return }
        unsafe SSL_set_session(ssl, copy)
        unsafe SSL_SESSION_free(copy)
    }

    private func shakeHands() throws(TLSError) {
        OpenSSLErrors.clear()
        let result = unsafe SSL_do_handshake(ssl)
        guard result == 1 else {
            let reason = unsafe SSL_get_error(ssl, result)
            if reason == SSL_ERROR_WANT_READ { return }
            if let resumptionKey { context.sessions.forget(resumptionKey) }
            throw fail(explain(reason))
        }
        let session = unsafe TLSSessionInfo(of: ssl)
        self.session = session
        if !context.isServer, !context.alpn.isEmpty, !context.alpn.contains(session.alpn ?? "") {
            sendCloseNotify()
            let offered = context.alpn.joined(separator: ", ")
            let answer = session.alpn.map { "chose \(printable($0))" } ?? "chose none"
            throw fail(TLSError(.noCommonProtocol, message: "\(peer) was offered \(offered) by ALPN and \(answer)"))
        }
        state = .established
        storeSessions()
    }

    private func storeSessions() {
        guard let resumptionKey, unsafe !pipe.pointee.newSessions.isEmpty else { return }
        for session in unsafe pipe.pointee.newSessions {
            context.sessions.store(session, for: resumptionKey)
        }
        unsafe pipe.pointee.newSessions.removeAll()
    }

    // MARK: Records

    /// Reads one record. Returns false if there is nothing more to read for now.
    private func readRecord(
        into record: UnsafeMutableRawPointer, _ plaintext: (UnsafeRawBufferPointer) -> Void
    ) throws(TLSError) -> Bool {
        let outputBefore = unsafe pipe.pointee.output.count
        if outputBefore == 0 { provoked = 0 }
        var count = 0
        OpenSSLErrors.clear()
        let result = unsafe SSL_read_ex(ssl, record, Self.recordSize, &count)
        // Session tickets arrive together with data, in the same call.
        storeSessions()
        let outputAfter = unsafe pipe.pointee.output.count
        if outputAfter != outputBefore {
            provoked += outputAfter - outputBefore
            guard provoked <= Self.provokedLimit else {
                throw fail(TLSError(.protocolViolation, message: "\(peer) provokes TLS output that it does not read"))
            }
        }
        if result == 1 {
            unsafe plaintext(UnsafeRawBufferPointer(start: record, count: count))
            // At the end of the input, another call would only report that there is nothing to read.
            return unsafe pipe.pointee.inputCount > 0 || SSL_has_pending(ssl) == 1
        }
        let reason = unsafe SSL_get_error(ssl, result)
        switch reason {
        case SSL_ERROR_WANT_READ:
            break
        case SSL_ERROR_ZERO_RETURN:
            state = .inputEnded
        default:
            throw fail(explain(reason))
        }
        return false
    }

    private func sendCloseNotify() {
        guard !hasSentCloseNotify else { return }
        hasSentCloseNotify = true
        OpenSSLErrors.clear()
        unsafe _ = SSL_shutdown(ssl)
        OpenSSLErrors.clear()
    }

    // MARK: Failures

    private func fail(_ error: TLSError) -> TLSError {
        state = .failed
        failure = error
        return error
    }

    /// The name of the peer in errors.
    private var peer: String {
        serverName.map { "server \(printable($0))" } ?? "the client"
    }

    private func explain(_ reason: CInt) -> TLSError {
        let errors = OpenSSLErrors.drain()
        let failure = unsafe pipe.pointee.verifyFailure
        if let failure, errors.tlsReason == SSL_R_CERTIFICATE_VERIFY_FAILED {
            return TLSError(
                failure, peer: peer, expectedName: serverName, lacksSystemRoots: context.lacksSystemRoots)
        }
        return TLSError(
            errors, peer: peer, isHandshaking: state == .handshaking, isServer: context.isServer, firstByte: firstByte)
    }
}

/// The name of a server, checked for validity.
struct TLSName {
    let text: String
    let isAddress: Bool

    init(_ name: String) throws(TLSError) {
        var name = name
        // In DNS, a trailing dot makes a name absolute. Certificates contain names without it.
        if name.hasSuffix("."), name.utf8.count > 1 { name.removeLast() }
        guard (1...253).contains(name.utf8.count), name.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw TLSError(.invalidConfiguration, message: "not a server name: \"\(printable(name))\"")
        }
        text = name
        var address = in6_addr()
        isAddress = unsafe inet_pton(AF_INET, name, &address) == 1 || inet_pton(AF_INET6, name, &address) == 1
    }
}
