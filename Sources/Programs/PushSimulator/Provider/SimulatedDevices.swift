package import PushLoop

/// The device tokens that have a state. Unknown tokens are accepted unless ``acceptsUnknown`` is false.
package struct SimulatedDevices {
    package enum State: String, CaseIterable, Sendable {
        /// The device accepts notifications.
        case active
        /// The answer is 410 `Unregistered`, with the time in `since`.
        case unregistered
        /// The answer is 410 `ExpiredToken`, with the time in `since`.
        case expired
        /// The answer is 400 `BadDeviceToken`.
        case bad
    }

    package struct Device: Equatable, Sendable {
        package var state = State.active
        /// The time since which the device has this state.
        package var since = WallTime(milliseconds: 0)
        /// The bundle ids whose notifications the device accepts. Empty: any.
        package var topics: [String] = []
        /// The environment of the device. Nil: both.
        package var environment: APNsEnvironment?
        /// What the token is for. Nil: anything.
        package var kind: TokenKind?
        /// The number of the simulated phone that has the token; 0 if there is none.
        var phone: UInt64 = 0
        /// The number of the Live Activity that the token updates; 0 if there is none.
        var activity: UInt64 = 0

        package init(
            state: State = .active, since: WallTime = WallTime(milliseconds: 0), topics: [String] = [],
            environment: APNsEnvironment? = nil, kind: TokenKind? = nil
        ) {
            self.state = state
            self.since = since
            self.topics = topics
            self.environment = environment
            self.kind = kind
        }
    }

    /// A token in hexadecimal digits; a `*` at the end makes it a prefix that matches all tokens that begin with it.
    package struct Pattern: Hashable, Sendable, CustomStringConvertible {
        /// Half bytes, so that a prefix may end within a byte.
        let digits: [UInt8]
        let isPrefix: Bool

        package init?(_ text: String) {
            var characters = Array(text.utf8)
            isPrefix = characters.last == UInt8(ascii: "*")
            if isPrefix { characters.removeLast() }
            let values = characters.map { Hex.value($0) }
            guard values.count <= 2 * TokenBytes.maxCount, !values.contains(nil), isPrefix || values.count % 2 == 0,
                isPrefix || !values.isEmpty
            else { return nil }
            digits = values.map { $0! }
        }

        package var description: String {
            String(decoding: digits.map { Hex.digit($0) }, as: UTF8.self) + (isPrefix ? "*" : "")
        }

        var bytes: [UInt8] {
            stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
        }

        @inline(__always)
        func matches(_ token: ByteView) -> Bool {
            guard isPrefix ? 2 * token.count >= digits.count : 2 * token.count == digits.count else { return false }
            for index in 0..<digits.count {
                let byte = token[index >> 1]
                if digits[index] != (index & 1 == 0 ? byte >> 4 : byte & 15) { return false }
            }
            return true
        }
    }

    private var exact = ByteTable<Device>()
    /// The prefixes, longest first, so that the most specific match wins.
    private var prefixes: [(pattern: Pattern, device: Device)] = []

    /// Whether tokens without a state are accepted.
    package var acceptsUnknown = true

    package static let maxTokens = 1_000_000
    package static let maxPrefixes = 1000

    package init() {}

    package var count: Int { exact.count + prefixes.count }

    /// The number of tokens that may still be set.
    var room: Int { max(Self.maxTokens - exact.count, 0) }

    /// Sets the state of a token. There must be room for it.
    mutating func set(_ device: Device, forToken token: [UInt8]) {
        precondition(room > 0, "the table of tokens is full")
        exact.set(device, for: token)
    }

    /// Makes a token invalid from a time on, if it has a state.
    mutating func retire(_ token: [UInt8], as state: State, at now: WallTime) {
        guard var device = exact[token] else { return }
        device.state = state
        device.since = now
        exact.set(device, for: token)
    }

    mutating func remove(_ token: [UInt8]) { exact.remove(token) }

    /// Sets the state of a token or prefix. Returns false if the table is full.
    package mutating func set(_ device: Device, for pattern: Pattern) -> Bool {
        if !pattern.isPrefix {
            guard exact.count < Self.maxTokens || exact[pattern.bytes] != nil else { return false }
            exact.set(device, for: pattern.bytes)
            return true
        }
        if let index = prefixes.firstIndex(where: { $0.pattern == pattern }) {
            prefixes[index].device = device
            return true
        }
        guard prefixes.count < Self.maxPrefixes else { return false }
        let index = prefixes.firstIndex { $0.pattern.digits.count < pattern.digits.count } ?? prefixes.endIndex
        prefixes.insert((pattern, device), at: index)
        return true
    }

    package func device(for pattern: Pattern) -> Device? {
        pattern.isPrefix ? prefixes.first { $0.pattern == pattern }?.device : exact[pattern.bytes]
    }

    package mutating func remove(_ pattern: Pattern) -> Bool {
        if !pattern.isPrefix { return exact.remove(pattern.bytes) != nil }
        guard let index = prefixes.firstIndex(where: { $0.pattern == pattern }) else { return false }
        prefixes.remove(at: index)
        return true
    }

    package mutating func removeAll() {
        exact.removeAll()
        prefixes = []
    }

    func forEach(_ body: (String, Device) -> Void) {
        exact.forEach { body(Hex.text($0), $1) }
        for entry in prefixes { body(entry.pattern.description, entry.device) }
    }

    /// Returns the state of a token: its own entry, or that of the longest matching prefix.
    func find(_ token: TokenBytes) -> Device? {
        if exact.isEmpty && prefixes.isEmpty { return nil }
        return token.withBytes { bytes in
            if let device = exact[bytes] { return device }
            return prefixes.first { $0.pattern.matches(bytes) }?.device
        }
    }

    /// Returns why a notification cannot be sent to this token, or nil if it can. The time is for answers with status
    /// 410.
    ///
    /// - Parameter suffix: The push type whose suffix the topic has, behind `baseLength` bytes.
    func refusal(
        of token: TokenBytes, topic: ByteView?, baseLength: Int, suffix: PushType? = nil, environment: APNsEnvironment
    ) -> (reason: Reason, since: WallTime)? {
        if acceptsUnknown, exact.isEmpty, prefixes.isEmpty { return nil }
        let none = WallTime(milliseconds: 0)
        guard let device = find(token) else { return acceptsUnknown ? nil : (.badDeviceToken, none) }
        if device.state == .bad { return (.badDeviceToken, none) }
        if let home = device.environment, home != environment { return (.badDeviceToken, none) }
        if let topic, !device.topics.isEmpty {
            let base = topic.prefix(baseLength)
            let takes = device.topics.contains { name in
                ByteView.lending(Array(name.utf8)) { $0.equals(base) || $0.equals(topic) }
            }
            if !takes { return (.deviceTokenNotForTopic, none) }
        }
        if topic != nil, let kind = device.kind, !kind.takes(suffix) { return (.deviceTokenNotForTopic, none) }
        switch device.state {
        case .active, .bad: return nil
        case .unregistered: return (.unregistered, device.since)
        case .expired: return (.expiredToken, device.since)
        }
    }
}
