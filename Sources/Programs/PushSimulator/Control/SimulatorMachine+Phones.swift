import JSON5
import PushLoop

extension SimulatorMachine {
    private static let phoneAdvice = """
        a phone is {"app": "bundle.id", "kinds": ["alert"], "activity_types": ["DeliveryAttributes"], "budget": 16, \
        "environment": "production|sandbox"}; only "app" is needed
        """

    mutating func controlPhones(
        _ request: ControlRequest, number text: String?, now: WallTime
    ) throws(ControlError) -> ControlResponse {
        guard let text else {
            switch request.method {
            case "GET":
                let query = try ControlQuery(request.query, keys: ["since", "limit"])
                return try listPhones(query)
            case "DELETE":
                _ = try ControlQuery(request.query, keys: [])
                phones.removeAll(in: &devices)
                return Self.done
            default:
                _ = try ControlQuery(request.query, keys: [])
                return try addPhone(from: request.body, now: now)
            }
        }
        _ = try ControlQuery(request.query, keys: [])
        guard let number = UInt64(text), let phone = phones.phones[number] else {
            throw ControlError(
                "there is no phone \(text)", status: 404, advice: "GET /phones lists the phones, each with its number")
        }
        guard request.method == "DELETE" else { return .json { Self.write(phone, to: &$0) } }
        _ = phones.remove(number, at: now, in: &devices)
        return Self.done
    }

    /// Handles POST /devices/TOKEN/rotate.
    mutating func rotate(
        _ request: ControlRequest, token text: String, now: WallTime
    ) throws(ControlError) -> ControlResponse {
        _ = try ControlQuery(request.query, keys: [])
        let pattern = try Self.pattern(text)
        guard !pattern.isPrefix else {
            throw ControlError("\"\(text)\" is a prefix", advice: "name one token")
        }
        guard let device = devices.device(for: pattern) else { throw Self.unknown(text) }
        guard device.state == .active else {
            throw ControlError(
                "the token \(text) is \(device.state.rawValue)", status: 409,
                advice: "GET /phones and GET /activities list the tokens of now")
        }
        guard
            let new = phones.rotate(pattern.bytes, of: device, at: now, in: &devices, random: &random),
            let next = SimulatedDevices.Pattern(Hex.text(new)), let successor = devices.device(for: next)
        else { throw Self.tableIsFull }
        return .json {
            $0.member("replaces", hex: pattern.bytes)
            Self.write(successor, token: next.description, to: &$0)
        }
    }

    private mutating func addPhone(from body: [UInt8], now: WallTime) throws(ControlError) -> ControlResponse {
        let order = try ControlError.reading(advice: Self.phoneAdvice) { try Self.order(Self.tree(body)) }
        guard let phone = phones.add(order, at: now, in: &devices, random: &random) else {
            throw ControlError(
                "there are too many: \(phones.count) phones, \(devices.count) tokens", status: 409,
                advice: "DELETE /phones")
        }
        return .json { Self.write(phone, to: &$0) }
    }

    private static func order(_ tree: JSONTree) throws(ScriptError) -> SimulatedPhones.Order {
        let object = try ScriptObject(
            tree, at: "", keys: ["app", "kinds", "activity_types", "budget", "environment"])
        var order = SimulatedPhones.Order()
        guard let app = try object.string("app"), !app.isEmpty, app.utf8.count <= 255 else {
            throw object.error("this must be the bundle id of an app", at: "app")
        }
        order.app = app
        order.environment = try object.choice("environment", of: APNsEnvironment.self)
        order.budget = try object.integer("budget", in: 0...100_000).map { Int($0) }
        for name in try strings("kinds", of: object) ?? ["alert"] {
            guard let kind = TokenKind(rawValue: name) else {
                let known = TokenKind.allCases.map(\.rawValue).joined(separator: ", ")
                throw object.error("\"\(name)\" is not one of \(known)", at: "kinds")
            }
            if kind == .pushToStart {
                throw object.error("these tokens are made for the types in \"activity_types\"", at: "kinds")
            }
            if kind == .activity { throw object.error("an activity gets its token when it starts", at: "kinds") }
            order.tokens.append((kind, nil))
        }
        for type in try strings("activity_types", of: object) ?? [] { order.tokens.append((.pushToStart, type)) }
        guard order.tokens.count <= SimulatedPhones.maxTokens else {
            throw object.error("a phone has at most \(SimulatedPhones.maxTokens) tokens")
        }
        return order
    }

    private static func strings(_ key: String, of object: ScriptObject) throws(ScriptError) -> [String]? {
        guard let value = object.value(key) else { return nil }
        guard let elements = value.elements, elements.allSatisfy({ $0.string?.isEmpty == false }) else {
            throw object.error("this must be an array of strings", at: key)
        }
        return elements.compactMap(\.string)
    }

    private func listPhones(_ query: ControlQuery) throws(ControlError) -> ControlResponse {
        let since = try query.integer("since", in: 0...UInt64(Int64.max)) ?? 0
        let limit = Int(try query.integer("limit", in: 1...100_000) ?? 1000)
        var text = JSONText()
        for number in phones.phones.keys.sorted().lazy.filter({ $0 > since }).prefix(limit) {
            guard let phone = phones.phones[number] else { continue }
            text.object { Self.write(phone, to: &$0) }
            text.newline()
        }
        return .lines(text.bytes)
    }

    private static func write(_ phone: SimulatedPhones.Phone, to text: inout JSONText) {
        text.member("phone", number: phone.number)
        text.member("app", string: phone.app)
        if let environment = phone.environment { text.member("environment", string: environment.rawValue) }
        if let budget = phone.budget { text.member("budget", number: budget) }
        text.array("tokens") { list in
            for token in phone.tokens {
                list.object {
                    $0.member("kind", string: token.kind.rawValue)
                    if let type = token.activityType { $0.member("activity_type", string: type) }
                    $0.member("token", hex: token.bytes)
                }
            }
        }
    }
}
