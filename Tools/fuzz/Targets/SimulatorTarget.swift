import APNs
import PushLoop

@testable import PushSimulator

extension FuzzTarget {
    /// The simulated Apple push service as a whole: requests, control requests and legacy bytes in any order and form.
    static let simulator = FuzzTarget(
        name: "simulator",
        seeds: {
            let faults = Array("{rules:[{match:{share:0.5},answer:{status:429,reason:'a\"b'}}]}".utf8)
            let devices = Array("{devices:[{token:'aa*',state:'unregistered'}]}".utf8)
            return [
                [0, 0, 1, 8, 4, 0x30, 1, 9, 0xff, 0, 0, 0],
                [0, 1, 1, 2, 3, 4, 1, 3, 5, 6, 7, 0, 4, 0, 0, 1, 1, 2],
                [2, 1, 4, 0, UInt8(faults.count)] + faults + [0, 0, 0, 0, 2, 0, 0, 0],
                [2, 1, 5, 0, UInt8(devices.count)] + devices + [2, 0, 2, 0, 0, 2, 0, 1, 0, 0, 2, 0, 3, 0, 0],
                [3, 8, 0, 0, 2, 0xaa, 0xbb, 0, 2, 0x7b, 0x7d, 4, 2, 0, 8, 0, 0],
            ]
        },
        run: { input in
            let play = SimulatorPlay(&input)
            while !input.isAtEnd { play.step(&input) }
        })
}

private final class SimulatorPlay {
    private static let names = [
        ":method", ":path", "authorization", "apns-topic", "apns-push-type", "apns-id", "apns-expiration",
        "apns-priority", "apns-collapse-id", "apns-channel-id", "apns-request-id", "x",
    ]
    private static let usual = [
        "POST", "/3/device/00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0",
        "bearer eyJhbGciOiJFUzI1NiIsImtpZCI6IkEifQ.eyJpc3MiOiJCIiwiaWF0IjoxNzY3MjI1NjAwfQ."
            + String(repeating: "B", count: 84) + "AQ",
        "com.example.shop", "alert", "eabeae54-14a8-11e5-b60b-1697f925ec7b", "1767229200", "10",
    ]
    private static let values = [
        "", "GET", "DELETE", "/3/device/aabb", "/1/apps/a.b/channels", "/1/apps/a.b/all-channels",
        "/4/broadcasts/apps/a.b", "a.b.voip", "a.b.push-type.liveactivity", "background", "voip", "liveactivity", "0",
        "5", "AAAA", "bearer a.b.c", "basic x", "-1", "99999999999999999999",
    ]
    private static let payloads = [
        #"{"aps":{"alert":"Hello"}}"#, "{}", "[", "",
        #"{"message-storage-policy":1,"push-type":"LiveActivity"}"#,
        #"{"aps":{"timestamp":1767225600,"event":"update","content-state":{}}}"#, #"{"mdm":"x"}"#,
    ]
    private static let methods = ["GET", "PUT", "POST", "DELETE", "PATCH"]
    private static let paths = [
        "/received", "/duplicates", "/counts", "/state", "/faults", "/devices", "/devices/aabb", "/feedback", "/",
        "/devices/00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0", "/nothing", "/devices/aa*",
    ]
    private static let noon = WallTime(milliseconds: 1_767_225_600_000)

    private var machine: SimulatorMachine
    private var connection: ProviderConnection
    private var legacy: BinaryConnection
    private var answer = AnswerText()
    private var stream: Int32 = 1
    private var now = SimulatorPlay.noon

    init(_ input: inout FuzzInput) {
        let habits = input.byte()
        var settings = SimulatorSettings()
        // The log is so small that records are overwritten.
        settings.records = 8
        settings.retainedBytes = 512
        settings.channelLimit = 2
        settings.requiresAuthentication = habits & 1 == 0
        if habits & 2 == 2 { settings.keys = [ProviderKey(keyID: "A", teamID: "B", topics: ["com.example.shop"])] }
        let certificate =
            habits & 4 == 4 ? CertificateIdentity(userID: "a.b", topicLists: [input.take(16)]) : nil
        var machine = SimulatorMachine(settings, now: Self.noon)
        connection = machine.open(machine.arrive(at: .provider), environment: .production, certificate: certificate)
        legacy = machine.openBinary(machine.arrive(at: .binary), environment: .sandbox, certificate: certificate)
        self.machine = machine
    }

    func step(_ input: inout FuzzInput) {
        switch input.byte() % 5 {
        case 0: request(&input)
        case 1:
            now = WallTime(milliseconds: now.milliseconds + Int64(input.word()) * 100)
            let services: ProviderConnection.Services = input.flag() ? .management : .all
            connection = machine.open(machine.arrive(at: .provider), environment: .sandbox, services: services)
            stream = 1
        case 2: control(&input)
        case 3:
            let bytes = input.take(Int(input.byte()))
            let reaction = ByteView.lending(bytes) { machine.receiveBinary($0, on: &legacy, now: now) }
            require(reaction.packet.count <= 6, "an error packet has \(reaction.packet.count) bytes")
            if legacy.isFinished {
                legacy = machine.openBinary(machine.arrive(at: .binary), environment: .production)
            }
        default:
            let bytes = machine.takeFeedback(machine.arrive(at: .feedback))
            require(bytes.count < 1 << 20, "the feedback list exceeds its bound")
        }
    }

    private func request(_ input: inout FuzzInput) {
        var headers = zip(Self.names, Self.usual).map { (Array($0.utf8), Array($1.utf8)) }
        for _ in 0..<Int(input.byte() & 7) {
            let place = Int(input.byte()) % (headers.count + 1)
            let kind = input.byte()
            let value =
                kind & 1 == 0
                ? input.take(Int(input.byte())) : Array(Self.values[Int(kind >> 1) % Self.values.count].utf8)
            if place == headers.count {
                headers.append((Array(Self.names[Int(kind >> 3) % Self.names.count].utf8), value))
            } else if kind & 6 == 6 {
                headers.remove(at: place)
            } else {
                headers[place].1 = value
            }
        }
        let kind = Int(input.byte())
        let payload =
            kind < 128 ? Array(Self.payloads[kind % Self.payloads.count].utf8) : input.take(Int(input.byte()))
        let reaction = send(headers, payload)
        stream += 2
        machine.render(reaction, into: &answer)
        var idLength = 0
        unsafe answer.forEachHeader { name, value in
            let isID = name.description == "apns-id" || name.description == "apns-request-id"
            if isID { idLength = value.count }
            unsafe require(
                value.allSatisfy { $0 >= 0x20 && $0 < 0x7f },
                "\(name) contains characters that a header must not contain")
        }
        require(idLength == 36, "the id of an answer has \(idLength) characters")
        require(answer.body.isEmpty || isJSON(answer.body), "the body of an answer is not JSON")
        require((200...599).contains(reaction.status), "invalid status \(reaction.status)")
        if input.flag() { machine.answerLost(reaction.record) }
    }

    private func send(_ headers: [([UInt8], [UInt8])], _ payload: [UInt8]) -> Reaction {
        // The views must outlive the call, so all text is stored in one buffer.
        let memory = headers.flatMap { $0.0 + $0.1 } + payload
        return ByteView.lending(memory) { view in
            var fields = RequestFields()
            var place = 0
            for (name, value) in headers {
                let middle = place + name.count
                fields.take(
                    name: view.slice(from: place, to: middle), value: view.slice(from: middle, to: middle + value.count)
                )
                place = middle + value.count
            }
            return machine.receive(
                fields, body: view.slice(from: place, to: memory.count), stream: stream, on: &connection, now: now)
        }
    }

    private func control(_ input: inout FuzzInput) {
        let method = Self.methods[Int(input.byte()) % Self.methods.count]
        let path = Self.paths[Int(input.byte()) % Self.paths.count]
        let query = String(decoding: input.take(Int(input.byte())), as: UTF8.self)
        let body = input.take(Int(input.byte()))
        let response = machine.control(
            ControlRequest(method: method, path: path, query: query, body: body), now: now)
        require((200...499).contains(response.status), "the control port answered with status \(response.status)")
        switch response.contentType {
        case "application/json":
            require(isJSON(response.body), "the control port's answer is not JSON")
        case "application/x-ndjson":
            for line in response.body.split(separator: 0x0a) {
                require(isJSON(Array(line)), "a line of the control port's answer is not JSON")
            }
        default: break
        }
    }

    private func isJSON(_ bytes: [UInt8]) -> Bool {
        ByteView.lending(bytes) { JSONScanner.scan($0) } != nil
    }
}
