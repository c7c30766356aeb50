package import PushLogic
package import PushLoop
package import PushModel
package import PushTime
package import PushTransport
import PushWire

/// Decides for each request of an HTTP door who sends it and whether it is genuine, before its body is parsed.
///
/// It has the secrets of all valid keys in memory, and is confined to the loop of the server. A door has one guard, so
/// that a nonce serves once.
package final class RequestGuard {
    package struct Settings: Sendable {
        /// Whether the door uses TLS. Without it, bearer secrets are accepted from loopback addresses only.
        package var isTLS: Bool
        package var policy = AccessPolicy()

        package init(isTLS: Bool) {
            self.isTLS = isTLS
        }
    }

    private let registrar: KeyRegistrar
    private let loop: EventLoop
    private let settings: Settings
    private let log: Logger?
    private var machine: AccessMachine
    private var secrets: [APIKeyID: KeySecret] = [:]
    private let unknown = KeySecret.unknown()
    private let seed: (UInt64, UInt64)
    private var hasher = SHA256Hasher()
    /// The signature base of the current request; its memory is reused.
    private var base: [UInt8] = []
    /// The last peer: most requests come on connections that had one before.
    private var lastPeer: (host: String, address: IPAddress) = ("", IPAddress(high: 0, low: 0))
    /// The last value of `Host` that was allowed.
    private var usualHost: [UInt8] = []
    private var timer: TimerHandle?
    private var isStopped = false

    /// Called on the loop with keys whose rights have just ended: revoked, rotated or expired. The door then ends their
    /// connections and streams.
    package var whenEnded: (([APIKeyID]) -> Void)?

    /// Creates a guard on the loop of its server, which follows all changes of the keys.
    ///
    /// - Parameter startedAt: the time of the start. Requests that were created before it are refused, because an
    ///   earlier process may have accepted them.
    package static func open(
        _ registrar: KeyRegistrar, on loop: EventLoop, settings: Settings, log: Logger? = nil,
        startedAt: WallTime = .current()
    ) async -> LoopBound<RequestGuard> {
        let bound = await loop.run {
            LoopBound(RequestGuard(registrar, on: loop, settings: settings, log: log, startedAt: startedAt), on: loop)
        }
        registrar.whenChanged { [weak bound] in await bound?.with { $0.refresh() } }
        // A change between the two steps above had no observer.
        await bound.with { $0.refresh() }
        return bound
    }

    private init(
        _ registrar: KeyRegistrar, on loop: EventLoop, settings: Settings, log: Logger?, startedAt: WallTime
    ) {
        self.registrar = registrar
        self.loop = loop
        self.settings = settings
        self.log = log
        let words = Self.randomWords()
        seed = (words[0], words[1])
        machine = AccessMachine(
            settings.policy, startedAt: startedAt.unixSeconds, seed: (words[2], words[3]))
        refresh()
    }

    private static func randomWords() -> [UInt64] {
        let bytes = SecureRandom.bytes(32)
        return (0..<4).map { word in (0..<8).reduce(0) { $0 << 8 | UInt64(bytes[8 * word + $1]) } }
    }

    // MARK: Keys

    /// Takes over the current keys. On the loop.
    func refresh() {
        loop.assertOnLoop()
        guard !isStopped else { return }
        let now = registrar.now()
        let keys = registrar.keys
        let valid = Set(keys.filter { $0.isValid(at: now) }.map(\.id))
        // A secret that could not be decrypted is tried again: the sealing key may have been restored.
        secrets = secrets.filter { valid.contains($0.key) && $0.value.canSign }
        for (id, secret) in registrar.secrets(without: Set(secrets.keys), at: now) { secrets[id] = secret }
        report(machine.replaceKeys(keys, at: now))
        keepTimer()
    }

    /// Ends the rights of keys that have expired. On the loop. It is called once a second while a key has an end,
    /// because the wall clock may be set at any time.
    package func expire() {
        loop.assertOnLoop()
        let ended = machine.endedKeys(at: registrar.now())
        for id in ended { secrets[id] = nil }
        report(ended)
        keepTimer()
    }

    private func report(_ ended: [APIKeyID]) {
        if !ended.isEmpty { whenEnded?(ended) }
    }

    private func keepTimer() {
        if machine.hasEnds, timer == nil, !isStopped {
            timer = loop.scheduleRepeating(every: .seconds(1)) { [weak self] in self?.expire() }
        } else if !machine.hasEnds, let running = timer {
            loop.cancel(running)
            timer = nil
        }
    }

    /// Ends the timer. On the loop, before the loop is shut down.
    package func stop() {
        loop.assertOnLoop()
        isStopped = true
        if let running = timer { loop.cancel(running) }
        timer = nil
        secrets = [:]
    }

    // MARK: Requests

    /// Authenticates a request. On the loop, before the body is parsed. The caller then checks roles and apps with
    /// ``Caller/must(_:for:)``.
    ///
    /// Requests of the control socket are those of ``Caller/local``: the mode of the socket file decides who may connect.
    ///
    /// - Parameter takesKeyField: Whether a bearer secret may also be in the header `X-API-Key`.
    package func check(
        _ request: HTTP1Request, takesKeyField: Bool = false, now: AccessTime = .current()
    ) -> Result<Caller, AccessRefusal> {
        loop.assertOnLoop()
        guard case .address(let host, _) = request.peer else { return .success(.local) }
        let address = address(of: host)
        let fields = RequestCredentials(request.headers, takesKeyField: takesKeyField)
        let result = decide(request, fields, from: address, now: now)
        if case .failure(let refusal) = result { logRefusal(refusal, host: host) }
        return result
    }

    private func decide(
        _ request: HTTP1Request, _ fields: RequestCredentials, from address: IPAddress, now: AccessTime
    ) -> Result<Caller, AccessRefusal> {
        let signature: RequestSignature?
        let bearer: BearerCredential?
        do {
            signature = try RequestSignature.read(inputs: fields.inputs, signatures: fields.signatures)
            bearer = try BearerCredential.read(fields.authorizations)
        } catch {
            return refused(.malformed, key: nil, from: address, now: now)
        }
        let id = signature?.keyID ?? bearer?.keyID
        if let signature {
            guard bearer == nil else { return refused(.twoCredentials, key: nil, from: address, now: now) }
            if let refusal = machine.admit(id, from: address, at: now) { return .failure(refusal) }
            guard let evidence = evidence(signature, for: request, fields) else {
                return refused(.malformed, key: id, from: address, now: now)
            }
            return machine.judge(CheckedRequest(key: id, address: address, evidence: evidence), at: now)
        }
        guard let bearer else { return .failure(.unauthenticated(.noCredentials)) }
        if let refusal = machine.admit(id, from: address, at: now) { return .failure(refusal) }
        let secret = id.flatMap { secrets[$0] } ?? unknown
        let evidence = CheckedRequest.Evidence.bearer(
            isAuthentic: secret.matches(bearer: bearer.secret, hasher: &hasher),
            isProtected: settings.isTLS || address.isLoopback)
        return machine.judge(CheckedRequest(key: id, address: address, evidence: evidence), at: now)
    }

    /// Returns whether a head is that of a client which knows the secret of a key with the role `push`. It decides how
    /// large the body may be, so that strangers, who may know the id of a key, cannot make the server keep large bodies.
    /// Address, times, nonce and digest are checked when the body has arrived.
    func isPusher(_ head: HTTP1Head) -> Bool {
        loop.assertOnLoop()
        let fields = RequestCredentials(head.headers)
        let signature = try? RequestSignature.read(inputs: fields.inputs, signatures: fields.signatures)
        let bearer = try? BearerCredential.read(fields.authorizations)
        guard let id = signature?.keyID ?? bearer?.keyID, let secret = secrets[id],
            machine.key(id)?.roles.allows(.push) ?? false
        else { return false }
        guard let signature else {
            return bearer.map { secret.matches(bearer: $0.secret, hasher: &hasher) } ?? false
        }
        guard let digest = try? ContentDigest.read(fields.digests) else { return false }
        base.removeAll(keepingCapacity: true)
        signature.appendBase(method: head.method.rawValue, target: head.target, digest: digest.text, to: &base)
        return secret.matches(signature.bytes, of: base)
    }

    /// Returns whether a request names the same host as the last one that was allowed, and no origin. Most requests do,
    /// and need no further check of the host.
    func isUsualHost(of headers: HTTP1Headers) -> Bool {
        guard let host = headers.bytes(of: "Host"), host.count == usualHost.count, host.elementsEqual(usualHost) else {
            return false
        }
        return !headers.has("Origin") && !headers.has("Sec-Fetch-Site")
    }

    func noteHost(of headers: HTTP1Headers) {
        if let host = headers.bytes(of: "Host") { usualHost = Array(host) }
    }

    /// Counts a request whose header fields cannot be used.
    private func refused(
        _ reason: AccessReason, key id: APIKeyID?, from address: IPAddress, now: AccessTime
    ) -> Result<Caller, AccessRefusal> {
        if let refusal = machine.admit(id, from: address, at: now) { return .failure(refusal) }
        return machine.judge(CheckedRequest(key: id, address: address, evidence: .unusable(reason)), at: now)
    }

    /// Checks the signature, and the digest of the body if the signature is right. Returns nil if the covered digest is
    /// missing or malformed.
    private func evidence(
        _ signature: RequestSignature, for request: HTTP1Request, _ fields: RequestCredentials
    ) -> CheckedRequest.Evidence? {
        var digest: ContentDigest?
        if signature.coversDigest {
            guard let read = try? ContentDigest.read(fields.digests) else { return nil }
            digest = read
        }
        base.removeAll(keepingCapacity: true)
        signature.appendBase(
            method: request.method.rawValue, target: request.target, digest: digest?.text ?? "", to: &base)
        let secret = signature.keyID.flatMap { secrets[$0] } ?? unknown
        let isAuthentic = secret.matches(signature.bytes, of: base)
        if !secret.canSign, secret !== unknown { return .unusable(.unreadableKey) }
        return .signature(
            CheckedRequest.Signature(
                isAuthentic: isAuthentic, created: signature.created, expires: signature.expires,
                nonce: signature.keyID.map { NonceHash(of: signature.nonce, key: $0, seed: seed) },
                // Strangers do not make the server hash large bodies.
                digest: isAuthentic ? check(digest, of: request.body) : .none))
    }

    private func check(_ digest: ContentDigest?, of body: [UInt8]) -> CheckedRequest.Digest {
        guard let digest else { return body.isEmpty ? .none : .missing }
        guard !body.isEmpty else { return .withoutBody }
        hasher.update(body)
        guard let given = Digest256(digest.sha256) else { return .differs }
        return hasher.finish().equalsInConstantTime(given) ? .matches : .differs
    }

    private func address(of host: String) -> IPAddress {
        if host == lastPeer.host { return lastPeer.address }
        // All peers without a readable address share one.
        lastPeer = (host, IPAddress(host) ?? IPAddress(high: 0, low: 0))
        return lastPeer.address
    }

    func logRefusal(_ refusal: AccessRefusal, peer: HTTP1Peer) {
        guard case .address(let host, _) = peer else { return }
        logRefusal(refusal, host: host)
    }

    /// Logs a refusal that has no key, such as that of a page of another site.
    func logRefusal(_ problem: Problem, peer: HTTP1Peer) {
        guard let reason = problem.reason, case .address(let host, _) = peer else { return }
        log?.notice(
            "request refused", [.reason: reason.rawValue, .status: problem.status, .address: host])
    }

    private func logRefusal(_ refusal: AccessRefusal, host: String) {
        // The log limits the lines of each site, so that a flood does not fill the disk.
        log?.notice(
            "request refused",
            [
                .reason: refusal.reason.rawValue, .status: refusal.status, .address: host,
                .key: refusal.key?.id.description ?? "-", .keyName: refusal.key?.name.text ?? "-",
            ])
    }
}
