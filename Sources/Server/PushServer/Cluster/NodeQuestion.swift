import FoundationEssentials
import PushAPI
import PushModel
import PushTime

/// What one node of a cluster asks another one about itself, and what comes back, as JSON between the nodes.
struct NodeQuestion: Codable, Sendable, Equatable {
    enum Kind: String, Codable {
        case statistics, gateways, gateway, scale, obstacle, webhooks, erase
    }

    let kind: Kind
    var app: String?
    var min: Int?
    var max: Int?
    /// The number of a message.
    var message: UInt64?
    /// Whether the statistics are to have the last quarter of an hour. Nodes of earlier versions leave it out.
    var hasHistory: Bool?
    var erasure: Erasure?

    /// A user to forget.
    struct Erasure: Codable, Sendable, Equatable {
        let user: String
        let apps: [String]?
        let pseudonym: String
        let milliseconds: Int64
        /// The devices of the user that are erased.
        var devices: [String]?
    }

    init(
        _ kind: Kind, app: AppID? = nil, connections: ClosedRange<Int>? = nil, message: UInt64? = nil,
        hasHistory: Bool? = nil
    ) {
        self.kind = kind
        self.message = message
        self.hasHistory = hasHistory
        self.app = app?.name
        (min, max) = (connections?.lowerBound, connections?.upperBound)
    }

    init(erasing erasure: UserErasure, _ devices: [DeviceID] = []) {
        self.init(.erase)
        self.erasure = Erasure(
            user: erasure.user, apps: erasure.apps?.map(\.name), pseudonym: erasure.pseudonym,
            milliseconds: erasure.time.milliseconds, devices: devices.map(\.description))
    }

    /// The user to forget; nil if the question has none.
    var userErasure: UserErasure? {
        guard let erasure, UserErasure.isPseudonym(erasure.pseudonym) else { return nil }
        return UserErasure(
            of: erasure.user, in: erasure.apps?.compactMap { AppID($0) },
            at: WallTime(milliseconds: erasure.milliseconds), pseudonym: erasure.pseudonym)
    }

    /// Reads a question; nil if it is not understood.
    init?(_ bytes: [UInt8]) {
        guard bytes.count <= 1 << 16, let read = try? JSONDecoder().decode(Self.self, from: Data(bytes)) else {
            return nil
        }
        self = read
    }

    var bytes: [UInt8] { (try? JSONEncoder().encode(self)).map { [UInt8]($0) } ?? [] }

    /// An answer: the value, or the problem of the node that was asked.
    struct Answer<Value: Codable>: Codable {
        var value: Value?
        var problem: Problem?
    }

    /// Returns the answer in the form in which it goes to the other node.
    static func answer<Value: Codable>(_ value: () async throws -> Value) async -> [UInt8]? {
        let answer: Answer<Value>
        do {
            answer = Answer(value: try await value())
        } catch let problem as Problem {
            answer = Answer(problem: problem)
        } catch {
            answer = Answer(problem: Problem(.internal, detail: "\(error)"))
        }
        return (try? JSONEncoder().encode(answer)).map { [UInt8]($0) }
    }

    static func value<Value: Codable>(_ bytes: [UInt8], of node: NodeID) throws(Problem) -> Value {
        let answer = try? JSONDecoder().decode(Answer<Value>.self, from: Data(bytes))
        if let value = answer?.value { return value }
        throw answer?.problem
            ?? Problem(
                .unavailable,
                detail: "node \(node) gave an answer that is not understood; start the same version of Carillon on all "
                    + "nodes")
    }
}
