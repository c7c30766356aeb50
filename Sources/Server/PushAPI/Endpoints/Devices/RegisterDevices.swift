package import PushModel
import PushWire

/// `POST /v1/devices`: registers one device, or a list of them, for a backend or an import.
///
/// Each device of a list has its own result; a fault of a single device is the problem of the request.
package struct RegisterDevices: RawBodyEndpoint {
    /// The maximum number of devices in one request.
    package static let maxRegistrations = 1000

    package struct Input: EndpointInput {
        let isTrial: Bool

        package init(_ read: inout InputReader) {
            isTrial =
                read.query("dry_run", as: .flag, about: "Returns the results without registering anything.") ?? false
        }
    }

    private static let registration: JSONValue = ["$ref": "#/components/schemas/NewDevice"]

    package static let operation = Operation(
        .post, at: "/v1/devices", id: "registerDevices", access: .roles([.register, .operate]), subject: "Devices",
        summary: "Registers a device, or a list of up to 1000 devices.",
        body: .raw([
            .init(
                "application/json",
                schema: [
                    "anyOf": [
                        registration,
                        [
                            "type": "object", "required": ["devices"], "additionalProperties": false,
                            "properties": [
                                "devices": [
                                    "type": "array", "items": registration, "minItems": 1,
                                    "maxItems": .integer(Int64(maxRegistrations)),
                                ]
                            ],
                        ],
                    ]
                ],
                named: "NewDevices", parts: ["NewDevice": DeviceInput.jsonSchema],
                example: [
                    "devices": [
                        ["app": "shop", "token": .string(DeviceInput.exampleToken), "user": "ada", "tags": ["beta"]]
                    ]
                ])
        ]), problems: [.unknownApp],
        records: [.operatorDeviceAdd, .operatorDevicesImport])

    private let devices: any DeviceDirectory
    private let identities: Identities
    private let apps: AppCatalog

    package init(devices: any DeviceDirectory, identities: Identities, apps: AppCatalog) {
        self.devices = devices
        self.identities = identities
        self.apps = apps
    }

    package func answer(
        _ input: Input, body: [UInt8], for caller: Caller
    ) async throws -> Reply<RegistrationListAnswer.OneOrMany> {
        let document = try RequestInput.document(body)
        if let fault = InputFault(repeatedKeyIn: document) { throw Problem.invalid(fault) }
        guard let list = document.value("devices", in: document.root) else {
            let (answer, app) = try await register([document.root], of: document, isTrial: input.isTrial, for: caller)[
                0]
            if let problem = answer.error { throw problem }
            return Reply(.one(answer), change: input.isTrial ? nil : OperatorChange(added: answer, app: app))
        }
        guard document.kind(list) == .array, document.members(document.root).reduce(0, { count, _ in count + 1 }) == 1
        else {
            throw Problem.invalid(
                InputFault(
                    .badValue, at: .pointer(""), detail: "send {\"devices\":[…]} and nothing else, or one device"))
        }
        let elements = Array(document.elements(list))
        guard (1...Self.maxRegistrations).contains(elements.count) else {
            throw Problem.invalid(
                InputFault(
                    elements.isEmpty ? .tooFew : .tooMany, at: .pointer("/devices"),
                    detail:
                        "there are \(elements.count) devices; 1 to \(Self.maxRegistrations) are allowed in a request"))
        }
        let done = try await register(elements, of: document, isTrial: input.isTrial, for: caller)
        return Reply(
            .many(RegistrationListAnswer(devices: done.map(\.answer))),
            changes: input.isTrial ? [] : OperatorChange.ofImport(done))
    }

    /// Returns the results in the order of the elements, with the app of each device that was not refused.
    private func register(
        _ elements: [JSONDocument.Position], of document: JSONDocument, isTrial: Bool, for caller: Caller
    ) async throws -> [(answer: RegistrationAnswer, app: AppID?)] {
        var answers: [RegistrationAnswer?] = []
        var taken: [DeviceRegistration] = []
        for element in elements {
            do throws(Problem) {
                let device = try device(document, at: element)
                guard apps.contains(device.app) else { throw .unknownApp(device.app.name) }
                try caller.check(device.app)
                try apps.check(zone: device.timeZone)
                taken.append(device)
                answers.append(nil)
            } catch {
                answers.append(RegistrationAnswer(refused: error))
            }
        }
        let done = isTrial ? try await preview(taken) : taken.isEmpty ? [] : try await devices.register(taken)
        guard done.count == taken.count else {
            throw Problem(
                .internal, detail: "the registry returned \(done.count) results for \(taken.count) devices")
        }
        var next = zip(taken, done).makeIterator()
        return answers.compactMap { answer in
            if let answer { return (answer, nil) }
            return next.next().map { taken, device in
                let answer = Self.answer(device)
                return (answer, answer.error == nil ? taken.app : nil)
            }
        }
    }

    private static func answer(_ device: RegisteredDevice) -> RegistrationAnswer {
        device.change == .tooMany
            ? RegistrationAnswer(refused: .invalid(.fullInstallation)) : RegistrationAnswer(device)
    }

    private func device(
        _ document: JSONDocument, at position: JSONDocument.Position
    ) throws(Problem) -> DeviceRegistration {
        do {
            return try DeviceInput(document, at: position).checked { apps.codec(of: $0) }
        } catch {
            throw .invalid(InputFault(.badValue, at: .pointer(""), detail: error.description))
        }
    }

    /// Returns the results that a registration would have, without registering anything.
    private func preview(_ registrations: [DeviceRegistration]) async throws -> [RegisteredDevice] {
        var result: [RegisteredDevice] = []
        var seen: Set<DeviceID> = []
        for registration in registrations {
            let id = identities.device(of: registration.app, token: registration.token)
            let isFirst = seen.insert(id).inserted
            let device = try await devices.device(id)
            let change: RegisteredDevice.Change =
                switch device?.isActive {
                case _ where !isFirst: .known
                case nil: .registered
                case true?: .known
                case false?: .reactivated
                }
            result.append(RegisteredDevice(id: id, change: change))
        }
        return result
    }
}

extension OperatorChange {
    fileprivate init(added device: RegistrationAnswer, app: AppID?) {
        self.init(
            .operatorDeviceAdd, app: app, of: device.id.map { "device \($0)" }, after: device.change)
    }

    /// Returns a change for each app that has got devices. What was refused has changed nothing, and may name an app of
    /// others, or any that there never was.
    fileprivate static func ofImport(_ devices: [(answer: RegistrationAnswer, app: AppID?)]) -> [OperatorChange] {
        var counts: [AppID: [String: Int]] = [:]
        for (answer, app) in devices {
            guard let app, let change = answer.change else { continue }
            counts[app, default: [:]][change, default: 0] += 1
        }
        return counts.sorted { $0.key.name < $1.key.name }.map { app, counts in
            OperatorChange(
                .operatorDevicesImport, app: app, of: "\(counts.values.reduce(0, +)) devices",
                after: counts.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", "))
        }
    }
}
