import PushThread
import ReceiptCrypto

/// A verifier of data that the App Store signs: transactions, renewal information, app transactions, and App Store
/// Server Notifications (version 2).
///
/// The verifier works offline: it reads no clock, no file and no network. For each text it checks, in this order, the
/// form, the chain of certificates to a trusted root, the signature, the validity of the certificates at the time of
/// signing, the kind of the data, and its app and environment. Nothing of a payload is parsed before its signature
/// holds.
///
/// ```swift
/// let verifier = SignedDataVerifier(apps: [StoreApp(bundleID: "com.example.shop", appAppleID: 1234567890)])
/// let transaction = try verifier.transaction(text)
/// if !transaction.content.isRevoked { unlock(transaction.content.productID) }
/// ```
///
/// One verifier serves all threads. ``RevocationChecker`` adds the check of revocation, which needs the network.
public final class SignedDataVerifier: Sendable {
    private let accepted: AcceptedApps
    private let roots: TrustedRoots
    private let cache: Locked<ChainCache>

    /// Creates a verifier.
    ///
    /// - Parameters:
    ///   - apps: The apps whose data is accepted.
    ///   - environments: The environments whose data is accepted. App Review and TestFlight use the sandbox, also with
    ///     versions of the app that are in the store. `Xcode` and `LocalTesting` are never accepted.
    ///   - roots: The roots at which chains may end.
    ///   - cachedChains: The maximum number of verified chains that are kept. The App Store uses few at a time.
    public init(
        apps: [StoreApp], environments: Set<StoreEnvironment> = [.production, .sandbox], roots: TrustedRoots = .apple,
        cachedChains: Int = 32
    ) {
        accepted = AcceptedApps(apps: apps, environments: environments)
        self.roots = roots
        cache = Locked(ChainCache(limit: cachedChains))
    }

    /// The number of chains that are kept.
    package var chainCount: Int { cache.withLock { $0.count } }

    /// Returns what a text claims about its signer. Nothing is verified.
    package func signer(claimedBy text: String) -> ClaimedSigner {
        guard let header = CompactJWS.header(of: text) else { return .none }
        return cache.withLock { $0.has(ChainCache.Key(header)) } ? .known : .unknown
    }

    /// Takes the chains that another verifier knows, as far as they end at a root of this one.
    package func takeChains(of other: SignedDataVerifier) {
        for key in other.cache.withLock({ $0.keys }) {
            guard let chain = try? chain(of: key) else { continue }
            cache.withLock { $0.insert(chain, for: key) }
        }
    }

    // MARK: Kinds of data

    /// Verifies a transaction: from a device, from a notification, or from the App Store Server API.
    ///
    /// A refunded transaction is genuine, and is returned: see ``SignedTransaction/isRevoked``.
    public func transaction(_ text: String) throws(ReceiptRefusal) -> Verified<SignedTransaction> {
        try transaction(open(text))
    }

    /// Verifies renewal information. It does not name its app: use it with the transaction of the same
    /// `originalTransactionID`.
    public func renewalInfo(_ text: String) throws(ReceiptRefusal) -> Verified<SignedRenewalInfo> {
        try renewalInfo(open(text))
    }

    /// Verifies an app transaction, which is the user's download of the app.
    public func appTransaction(_ text: String) throws(ReceiptRefusal) -> Verified<SignedAppTransaction> {
        try appTransaction(open(text))
    }

    /// Verifies the `signedPayload` of an App Store Server Notification, and the signed data in it.
    public func notification(_ text: String) throws(ReceiptRefusal) -> Verified<ServerNotification> {
        try notification(open(text))
    }

    /// Verifies signed data of any kind.
    public func verify(_ text: String) throws(ReceiptRefusal) -> VerifiedData {
        let opened = try open(text)
        switch SignedDataKind(of: opened.claims) {
        case .transaction: return .transaction(try transaction(opened))
        case .renewalInfo: return .renewalInfo(try renewalInfo(opened))
        case .appTransaction: return .appTransaction(try appTransaction(opened))
        case .notification: return .notification(try notification(opened))
        case nil: throw ReceiptRefusal(.wrongKind, "The data is genuine, but of a kind that is not known here.")
        }
    }

    private func transaction(_ opened: Opened) throws(ReceiptRefusal) -> Verified<SignedTransaction> {
        try opened.require(.transaction)
        let content = try SignedTransaction(opened.claims)
        try accepted.check(bundleID: content.bundleID)
        try accepted.check(environment: content.environment)
        return opened.verified(content)
    }

    private func renewalInfo(_ opened: Opened) throws(ReceiptRefusal) -> Verified<SignedRenewalInfo> {
        try opened.require(.renewalInfo)
        let content = try SignedRenewalInfo(opened.claims)
        try accepted.check(environment: content.environment)
        return opened.verified(content)
    }

    private func appTransaction(_ opened: Opened) throws(ReceiptRefusal) -> Verified<SignedAppTransaction> {
        try opened.require(.appTransaction)
        let content = try SignedAppTransaction(opened.claims)
        try accepted.check(
            bundleID: content.bundleID, appAppleID: content.appAppleID, environment: content.environment)
        return opened.verified(content)
    }

    private func notification(_ opened: Opened) throws(ReceiptRefusal) -> Verified<ServerNotification> {
        try opened.require(.notification)
        var reading = NotificationReading(verifier: self, accepted: accepted)
        let content = try reading.notification(opened.claims, signedAt: opened.signed.signedAt)
        return opened.verified(content, nested: reading.chains)
    }

    // MARK: Signature and chain

    /// Signed data whose chain and signature hold, of any kind.
    struct Opened {
        let signed: SignedText
        let chain: SigningChain

        var claims: ClaimReader { ClaimReader(signed.json) }

        func require(_ kind: SignedDataKind) throws(ReceiptRefusal) {
            let found = SignedDataKind(of: claims)
            guard found == kind else {
                throw ReceiptRefusal(
                    .wrongKind,
                    "The data is genuine, but it is \(found?.name ?? "of a kind that is not known here"), not "
                        + "\(kind.name).")
            }
        }

        func verified<Content>(_ content: Content, nested: [SigningChain] = []) -> Verified<Content> {
            Verified(content, signed: signed, chains: [chain] + nested)
        }
    }

    private func open(_ text: String) throws(ReceiptRefusal) -> Opened {
        let jws = try CompactJWS(text)
        let key = ChainCache.Key(jws.header)
        let known = cache.withLock { $0.chain(for: key) }
        let chain = if let known { known } else { try chain(of: key) }
        guard chain.verifies(jws.signature, of: jws.signedText) else {
            throw ReceiptRefusal(
                .wrongSignature, "The signature is not that of the certificate's key: the data was altered or forged.")
        }
        // Only now: without the key, anyone can write the certificates of a genuine chain in many ways.
        if known == nil { cache.withLock { $0.insert(chain, for: key) } }
        let json = try Self.json(jws.payload)
        let claims = ClaimReader(json)
        // App transactions have the time of their creation in place of the time of signing.
        let isAppTransaction = SignedDataKind(of: claims) == .appTransaction && !claims.has("signedDate")
        let signedAt = try claims.required(isAppTransaction ? "receiptCreationDate" : "signedDate", claims.time)
        try Self.check(chain, at: signedAt)
        return Opened(
            signed: SignedText(original: text, json: json, signedAt: signedAt, payload: jws.payload), chain: chain)
    }

    private func chain(of key: ChainCache.Key) throws(ReceiptRefusal) -> SigningChain {
        guard let leaf = StrictBase64.decode(key.leaf.utf8),
            let intermediate = StrictBase64.decode(key.intermediate.utf8)
        else { throw ReceiptRefusal(.malformedBase64, "A certificate in the header is not Base64.") }
        do {
            return try roots.store.chain(leaf: leaf, intermediate: intermediate)
        } catch {
            throw ReceiptRefusal(error)
        }
    }

    private static func json(_ payload: [UInt8]) throws(ReceiptRefusal) -> ReceiptJSON {
        let json: ReceiptJSON
        do {
            json = try StrictJSONReader.read(payload)
        } catch {
            throw ReceiptRefusal(error, in: "payload", code: .malformedPayload)
        }
        guard json.members != nil else {
            throw ReceiptRefusal(.malformedPayload, "The payload is not a JSON object but \(json.kind).")
        }
        return json
    }

    private static func check(_ chain: SigningChain, at time: StoreTime) throws(ReceiptRefusal) {
        guard time.milliseconds >= chain.validFrom else {
            throw ReceiptRefusal(
                .certificateNotYetValid,
                "The data was signed at \(time), before its certificates became valid (\(chain.validFrom)).")
        }
        guard time.milliseconds <= chain.validUntil else {
            throw ReceiptRefusal(
                .certificateExpired,
                "The data was signed at \(time), after its certificates had expired (\(chain.validUntil)).")
        }
    }
}
