import ReceiptCrypto

/// A checker of the revocation of certificates, by OCSP (RFC 6960). It asks about the leaf and the intermediate of
/// verified data, and remembers for 15 minutes which chains are good.
///
/// ```swift
/// let checker = RevocationChecker(policy: .soft, transport: URLSessionTransport())
/// let transaction = try await checker.check(verifier.transaction(text))
/// ```
///
/// A failure of the network is not a fault of the data: under ``RevocationPolicy/require`` it is the refusal
/// ``ReceiptRefusal/Code/revocationUnavailable``, which is retryable, and under ``RevocationPolicy/soft`` the data is
/// accepted with the status ``RevocationStatus/unknown(_:)``. A revoked certificate is refused under both.
public actor RevocationChecker {
    /// The time for which a good chain is remembered, in milliseconds.
    private static let goodTime: Int64 = 15 * 60 * 1000
    /// The time for which an unknown chain is not asked about again under the policy `soft`, in milliseconds. Otherwise
    /// every text would wait for a responder that does not answer.
    private static let unknownTime: Int64 = 60 * 1000
    private static let maxResponseLength = 64 * 1024

    /// The demand for the check.
    public nonisolated let policy: RevocationPolicy
    private let transport: any ReceiptTransport
    private let timeLimit: Duration
    private let now: @Sendable () -> StoreTime
    private let maxChains: Int
    private var cache: RevocationCache
    private var inFlight: [[UInt8]: Task<[RevocationFinding], Never>] = [:]

    /// Creates a checker.
    ///
    /// - Parameters:
    ///   - policy: The demand for the check.
    ///   - transport: The network.
    ///   - timeLimit: The time for one request.
    ///   - maxChains: The maximum number of chains that are remembered, and that are asked about at the same time.
    ///   - now: Returns the current time.
    public init(
        policy: RevocationPolicy, transport: any ReceiptTransport, timeLimit: Duration = .seconds(10),
        maxChains: Int = 32, now: @escaping @Sendable () -> StoreTime = { .now() }
    ) {
        self.policy = policy
        self.transport = transport
        self.timeLimit = timeLimit
        self.maxChains = max(1, maxChains)
        self.now = now
        cache = RevocationCache(limit: maxChains)
    }

    /// Checks the certificates of verified data, and of the data nested in it.
    ///
    /// - Returns: The data with its ``Verified/revocation``.
    /// - Throws: A refusal if a certificate is revoked, or if the policy demands an answer and there is none.
    public func check<Content>(_ data: Verified<Content>) async throws(ReceiptRefusal) -> Verified<Content> {
        guard policy != .off else { return data }
        var result = RevocationStatus.good
        for chain in data.chains {
            let status = try await status(of: chain)
            if result == .good { result = status }
        }
        return data.checked(result)
    }

    /// Checks the certificates of verified data of any kind.
    public func check(_ data: VerifiedData) async throws(ReceiptRefusal) -> VerifiedData {
        switch data {
        case .transaction(let data): .transaction(try await check(data))
        case .renewalInfo(let data): .renewalInfo(try await check(data))
        case .appTransaction(let data): .appTransaction(try await check(data))
        case .notification(let data): .notification(try await check(data))
        }
    }

    private func status(of chain: SigningChain) async throws(ReceiptRefusal) -> RevocationStatus {
        let id = chain.id
        let asked = now().milliseconds
        if let known = cache.status(of: id, now: asked) { return known }
        // A responder forgets certificates after their end.
        guard (chain.validFrom...max(chain.validFrom, chain.validUntil)).contains(asked) else {
            let cause = "the certificates are not valid today, and responders do not answer for them"
            if policy == .require {
                throw ReceiptRefusal(.certificateExpired, "Revocation must be checked, but \(cause).")
            }
            return .unknown(cause)
        }
        let findings = await findings(about: chain, id: id, now: asked)
        let status = try RevocationFinding.conclusion(findings, under: policy)
        let time = status == .good ? Self.goodTime : Self.unknownTime
        cache.insert(status, for: id, until: asked &+ time)
        return status
    }

    /// Asks the responders. Requests about one chain at the same time share one question.
    private func findings(about chain: SigningChain, id: [UInt8], now: Int64) async -> [RevocationFinding] {
        if let running = inFlight[id] { return await running.value }
        guard inFlight.count < maxChains else { return [.unavailable("too many chains are being checked")] }
        let task = Task { [transport, timeLimit] in
            async let leaf = Self.finding(
                about: .leaf, of: chain, by: transport, within: timeLimit, now: now)
            async let intermediate = Self.finding(
                about: .intermediate, of: chain, by: transport, within: timeLimit, now: now)
            return await [leaf, intermediate]
        }
        inFlight[id] = task
        let findings = await task.value
        inFlight[id] = nil
        return findings
    }

    private static func finding(
        about member: SigningChain.Member, of chain: SigningChain, by transport: any ReceiptTransport,
        within timeLimit: Duration, now: Int64
    ) async -> RevocationFinding {
        guard let url = chain.responder(of: member) else {
            return .unknown("the certificate does not name a responder")
        }
        guard let body = chain.ocspRequest(for: member) else { return .unavailable("the request cannot be made") }
        let request = ReceiptRequest(
            url: url, contentType: "application/ocsp-request", body: body, maxResponseLength: maxResponseLength,
            timeLimit: timeLimit)
        let response: ReceiptResponse
        do {
            response = try await transport.post(request)
        } catch {
            return .unavailable("cannot reach \(url): \(ReceiptRefusal.plain("\(error)"))")
        }
        guard response.status == 200 else { return .unavailable("\(url) answered with status \(response.status)") }
        guard response.body.count <= maxResponseLength else { return .unknown("the response of \(url) is too long") }
        return RevocationFinding(chain.ocspAnswer(response.body, about: member, now: now / 1000))
    }
}
