import PushTransport

/// The decisions of the simulated FCM: which assertions give an access token, and what a message is answered. It has no
/// input or output, and records what it has received.
package struct FCMMachine {
    package struct Reply {
        package var status: Int
        package var body: [UInt8]
        package var retryAfter: String?
        package var action = Action.answer

        /// The delay of the answer in nanoseconds.
        package var delay: Int64 = 0

        package enum Action: Sendable { case answer, silence, cut, goAway, reset(UInt32) }
    }

    /// A message that had a valid access token, with its answer.
    package struct Record: Sendable {
        package let message: FCMMessage
        package let answer: FCMReaction
        /// The name of a message that was taken.
        package let name: String?
    }

    private let account: FCMAccount
    /// The address of the token endpoint, which assertions name as their audience.
    package var audience = ""
    /// How long access tokens live, in seconds.
    package var tokenLifetime: Int64 = 3599
    /// The access tokens that are accepted, with their ends in milliseconds since 1970.
    private var tokens: [String: Int64] = [:]
    /// The numbers of requests for tokens, and of those that were granted.
    package private(set) var mints = 0
    package private(set) var granted = 0
    /// What a request for a token is answered if it is not granted whatever it is; nil for the normal answer.
    package var mintFault: (status: Int, body: String)?
    package private(set) var records: [Record] = []
    /// The number of messages that had no valid token.
    package private(set) var unauthenticated = 0
    private static let maxRecords = 100_000

    package init(_ account: FCMAccount) {
        self.account = account
    }

    /// Makes all access tokens invalid.
    package mutating func revokeTokens() { tokens = [:] }

    // MARK: Tokens

    /// Answers a form with an assertion.
    package mutating func token(for form: [UInt8], at milliseconds: Int64) -> Reply {
        mints += 1
        if let mintFault { return Reply(status: mintFault.status, body: Array(mintFault.body.utf8)) }
        guard let items = HTTP1QueryItem.items(form: form) else { return Self.refusal("invalid_request", "not a form") }
        let value = { (name: String) in items.first { $0.name == name }?.value }
        guard value("grant_type") == "urn:ietf:params:oauth:grant-type:jwt-bearer" else {
            return Self.refusal("unsupported_grant_type", "Invalid grant_type")
        }
        guard let assertion = value("assertion").flatMap(FCMAssertion.init) else {
            return Self.refusal("invalid_grant", "Invalid JWT: Failed to parse")
        }
        if let fault = fault(of: assertion, at: milliseconds / 1000) { return Self.refusal("invalid_grant", fault) }
        granted += 1
        let token = "ya29.simulated-\(granted)"
        tokens[token] = milliseconds + tokenLifetime * 1000
        var text = JSONText()
        text.object { text in
            text.member("access_token", string: token)
            text.member("expires_in", number: tokenLifetime)
            text.member("token_type", string: "Bearer")
        }
        return Reply(status: 200, body: text.bytes)
    }

    private func fault(of assertion: FCMAssertion, at now: Int64) -> String? {
        if assertion.issuer != account.email { return "Invalid issuer: not a valid email or user ID" }
        if let keyID = assertion.keyID, keyID != account.keyID { return "Invalid JWT Signature." }
        if !account.key.verify(assertion.signingInput, signature: assertion.signature) {
            return "Invalid JWT Signature."
        }
        // Google's own libraries name this audience, whatever the file of the account says.
        if assertion.audience != audience, assertion.audience != "https://oauth2.googleapis.com/token" {
            return "Invalid JWT: audience"
        }
        let allowed = ["firebase.messaging", "cloud-platform"].map { "https://www.googleapis.com/auth/\($0)" }
        if !assertion.scopes.contains(where: { allowed.contains(String($0)) }) { return "Invalid OAuth scope" }
        let (age, isAgeOut) = now.subtractingReportingOverflow(assertion.issuedAt)
        let (life, isLifeOut) = assertion.expiresAt.subtractingReportingOverflow(assertion.issuedAt)
        if isAgeOut || isLifeOut || !(1...3600).contains(life) || age < -300 || age >= life {
            return "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. Check "
                + "your iat and exp values in the JWT claim."
        }
        return nil
    }

    private static func refusal(_ error: String, _ description: String) -> Reply {
        var text = JSONText()
        text.object { text in
            text.member("error", string: error)
            text.member("error_description", string: description)
        }
        return Reply(status: 400, body: text.bytes)
    }

    // MARK: Messages

    /// Answers a message.
    ///
    /// - Parameter behavior: The answer to a message with which nothing is wrong.
    package mutating func message(
        path: String, authorization: String, body: [UInt8], at milliseconds: Int64,
        behavior: (FCMMessage) -> FCMReaction
    ) -> Reply {
        guard let end = tokens[String(authorization.dropFirst("Bearer ".count))], authorization.hasPrefix("Bearer ")
        else {
            unauthenticated += 1
            return Self.error(401, "UNAUTHENTICATED", details: [])
        }
        guard milliseconds < end else {
            unauthenticated += 1
            return Self.error(401, "UNAUTHENTICATED", details: [FCMText.errorInfo("ACCESS_TOKEN_EXPIRED")])
        }
        guard path == "/v1/projects/\(account.project)/messages:send" else {
            return Self.error(404, "NOT_FOUND", details: [])
        }
        let message: FCMMessage
        do {
            message = try FCMMessage(body)
        } catch {
            let details = [error.field.map { FCMText.badRequest(field: $0, text: error.text) }].compactMap { $0 }
            return Self.error(
                400, "INVALID_ARGUMENT", message: error.text, details: [FCMText.code("INVALID_ARGUMENT")] + details)
        }
        let answer = message.isValidatedOnly ? FCMReaction.taken : behavior(message)
        return reply(answer, to: message)
    }

    private mutating func reply(_ answer: FCMReaction, to message: FCMMessage) -> Reply {
        let isTaken =
            switch answer {
            case .taken, .takenLast, .cut: true
            case .reset(_, let isTaken): isTaken
            case .refused, .raw, .silence: false
            }
        let name = isTaken && !message.isValidatedOnly ? "0:\(records.count)%simulated" : nil
        if records.count < Self.maxRecords { records.append(Record(message: message, answer: answer, name: name)) }
        switch answer {
        case .taken, .takenLast, .cut:
            var text = JSONText()
            text.object {
                $0.member("name", string: "projects/\(account.project)/messages/\(name ?? "fake_message_id")")
            }
            var reply = Reply(status: 200, body: text.bytes)
            if answer == .takenLast { reply.action = .goAway }
            if answer == .cut { reply.action = .cut }
            return reply
        case .silence: return Reply(status: 0, body: [], action: .silence)
        case .reset(let code, _): return Reply(status: 0, body: [], action: .reset(code))
        case .raw(let status, let body): return Reply(status: status, body: body)
        case .refused(let status, let word, let code, let retryAfter, let details):
            var reply = Self.error(status, word, details: (code.map { [FCMText.code($0)] } ?? []) + details)
            reply.retryAfter = retryAfter
            return reply
        }
    }

    private static func error(_ status: Int, _ word: String, message: String = "", details: [String]) -> Reply {
        Reply(
            status: status,
            body: FCMText.error(status: status, word: word, message: message.isEmpty ? word : message, details: details)
        )
    }
}
