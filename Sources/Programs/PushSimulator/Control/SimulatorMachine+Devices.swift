import JSON5
import PushLoop

extension SimulatorMachine {
    private static let deviceAdvice = """
         a device is {"state": "active|unregistered|expired|bad", "since": milliseconds, "topics": ["bundle.id"], \
        "environment": "production|sandbox", "kind": "alert|voip|…"}; all keys are optional
        """
    static let tokenAdvice =
        "use an even number of at most 200 hexadecimal digits, or digits and * for a prefix"

    mutating func controlDevices(
        _ request: ControlRequest, token: String?, now: WallTime
    ) throws(ControlError) -> ControlResponse {
        _ = try ControlQuery(request.query, keys: [])
        guard let token else {
            switch request.method {
            case "GET": return listDevices()
            case "DELETE":
                phones.removeAll(in: &devices)
                devices.removeAll()
                devices.acceptsUnknown = true
                return Self.done
            default: return try setDevices(from: request.body, now: now)
            }
        }
        let pattern = try Self.pattern(token)
        switch request.method {
        case "GET":
            guard let device = devices.device(for: pattern) else { throw Self.unknown(token) }
            return .json { Self.write(device, token: pattern.description, to: &$0) }
        case "DELETE":
            guard devices.remove(pattern) else { throw Self.unknown(token) }
            return Self.done
        default:
            let device = try ControlError.reading(advice: Self.deviceAdvice) {
                try Self.device(Self.tree(request.body), at: "", keys: [], now: now)
            }
            try add(device, for: pattern)
            return .json { Self.write(devices.device(for: pattern) ?? device, token: pattern.description, to: &$0) }
        }
    }

    static func unknown(_ token: String) -> ControlError {
        ControlError(
            "no state is set for \(token)", status: 404,
            advice: "GET /devices lists the tokens that have a state")
    }

    static func pattern(_ text: String) throws(ControlError) -> SimulatedDevices.Pattern {
        guard let pattern = SimulatedDevices.Pattern(text) else {
            throw ControlError("\"\(text)\" is not a token", advice: tokenAdvice)
        }
        return pattern
    }

    private mutating func add(_ device: SimulatedDevices.Device, for pattern: SimulatedDevices.Pattern)
        throws(ControlError)
    {
        var device = device
        if !pattern.isPrefix, let known = devices.device(for: pattern), known.phone > 0 || known.activity > 0 {
            // The token stays what it is for; what is not given stays as well.
            (device.phone, device.activity) = (known.phone, known.activity)
            device.kind = device.kind ?? known.kind
            device.environment = device.environment ?? known.environment
            if device.topics.isEmpty { device.topics = known.topics }
        }
        guard devices.set(device, for: pattern) else { throw Self.tableIsFull }
    }

    static var tableIsFull: ControlError {
        ControlError(
            "the device table is full: \(SimulatedDevices.maxTokens) tokens, \(SimulatedDevices.maxPrefixes) prefixes",
            status: 409, advice: "DELETE /devices, or cover many tokens with one prefix")
    }

    /// Handles PUT /devices: `{"unknown": "accept", "devices": [{"token": …, "state": …}, …]}`. An invalid entry
    /// rejects the whole request.
    private mutating func setDevices(from body: [UInt8], now: WallTime) throws(ControlError) -> ControlResponse {
        var unknown: String?
        let read = try ControlError.reading(advice: Self.deviceAdvice) {
            let object = try ScriptObject(Self.tree(body), at: "", keys: ["unknown", "devices"])
            unknown = try object.string("unknown")
            if let unknown, unknown != "accept", unknown != "reject" {
                throw object.error("this must be \"accept\" or \"reject\"", at: "unknown")
            }
            guard let list = object.value("devices") else {
                return [(SimulatedDevices.Pattern, SimulatedDevices.Device)]()
            }
            guard let elements = list.elements else { throw object.error("this must be an array", at: "devices") }
            return try elements.enumerated().map { index, element in
                let path = "devices[\(index)]"
                guard let text = element["token"]?.string else {
                    throw ScriptError(line: nil, path: path, problem: "\"token\" is missing")
                }
                return (try Self.pattern(text), try Self.device(element, at: path, keys: ["token"], now: now))
            }
        }
        for (pattern, device) in read { try add(device, for: pattern) }
        if let unknown { devices.acceptsUnknown = unknown == "accept" }
        return .json { $0.member("known", number: devices.count) }
    }

    private static func device(
        _ tree: JSONTree, at path: String, keys: [String], now: WallTime
    ) throws(ScriptError) -> SimulatedDevices.Device {
        let object = try ScriptObject(tree, at: path, keys: keys + ["state", "since", "topics", "environment", "kind"])
        var device = SimulatedDevices.Device(since: now)
        device.state = try object.choice("state", of: SimulatedDevices.State.self) ?? .active
        if let since = try object.integer("since", in: 0...9_007_199_254_740_992) {
            device.since = WallTime(milliseconds: since)
        }
        device.environment = try object.choice("environment", of: APNsEnvironment.self)
        device.kind = try object.choice("kind", of: TokenKind.self)
        if let topics = object.value("topics") {
            guard let list = topics.elements, list.allSatisfy({ $0.string != nil }) else {
                throw object.error("this must be an array of bundle ids", at: "topics")
            }
            device.topics = list.compactMap(\.string)
        }
        return device
    }

    private func listDevices() -> ControlResponse {
        var text = JSONText()
        devices.forEach { token, device in
            text.object { Self.write(device, token: token, to: &$0) }
            text.newline()
        }
        return .lines(text.bytes)
    }

    static func write(_ device: SimulatedDevices.Device, token: String, to text: inout JSONText) {
        text.member("token", string: token)
        text.member("state", string: device.state.rawValue)
        text.member("since", number: device.since.milliseconds)
        if !device.topics.isEmpty {
            text.array("topics") { list in for topic in device.topics { list.element(topic) } }
        }
        if let environment = device.environment { text.member("environment", string: environment.rawValue) }
        if let kind = device.kind { text.member("kind", string: kind.rawValue) }
        if device.phone > 0 { text.member("phone", number: device.phone) }
        if device.activity > 0 { text.member("activity", number: device.activity) }
    }
}
