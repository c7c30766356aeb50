import PushModel
import PushTransport
import PushWire

/// `/v1/devices`: the registry for people and tools.
struct DeviceRoutes: Sendable {
    /// In one request.
    static let mostRegistrations = 1000
    static let largestPage = 1000
    static let longestReason = 200

    let devices: any DeviceBook
    let identities: Identities
    /// The apps of the configuration in force; nil takes any name.
    let apps: (@Sendable () async -> [AppID])?

    var all: [ControlRoute] {
        let filters = ["app", "user", "tag", "active", "after", "limit"]
        return [
            ControlRoute(.get, "/v1/devices", query: filters) { request in
                let list = try await page(request.query)
                return DeviceListAnswer(devices: list.devices.map { DeviceAnswer($0) }, next: list.next?.text)
            },
            ControlRoute(.post, "/v1/devices", query: ["dry_run"]) { try await register($0) },
            ControlRoute(.get, "/v1/devices/{id}") { request in
                DeviceAnswer(try await device(try id(request)))
            },
            ControlRoute(.post, "/v1/devices/find") { request in
                let registration = try find(request.body)
                return DeviceAnswer(try await device(identities.device(registration.app, registration.token)))
            },
            ControlRoute(.post, "/v1/devices/{id}/deactivate") { request in
                let (id, reason) = (try id(request), try reason(request.body))
                let ended = try await devices.deactivate([id], reason: reason)
                if ended.isEmpty { _ = try await device(id) }
                return DeactivationAnswer(id: id.description, deactivated: ended.contains(id))
            },
            ControlRoute(.delete, "/v1/apps/{app}/devices/{id}") { request in
                let id = try id(request)
                let known = try await device(id)
                guard known.app.name == request.parameter("app") else {
                    throw ControlFault(404, "unknown_device", "there is no device \(id) of that app")
                }
                return RemovalAnswer(id: id.description, removed: try await devices.remove([id]).contains(id))
            },
            // With tokens: a resource of its own, so that it can be a right of its own.
            ControlRoute(.get, "/v1/export/devices", query: filters) { request in
                let list = try await page(request.query)
                return DeviceExportAnswer(devices: list.devices.map { ExportedDevice($0) }, next: list.next?.text)
            },
        ]
    }

    // MARK: Asking

    private func id(_ request: RoutedRequest) throws(ControlFault) -> DeviceID {
        guard let id = DeviceID(request.parameter("id")) else {
            throw .badRequest("a device id is \(DeviceID.textLength) lower-case hexadecimal digits")
        }
        return id
    }

    private func device(_ id: DeviceID) async throws -> DeviceRecord {
        guard let device = try await devices.device(id) else {
            throw ControlFault(404, "unknown_device", "there is no device \(id)")
        }
        return device
    }

    private func page(_ query: ControlQuery) async throws -> DeviceList {
        var filter = DeviceFilter()
        if let name = query.text("app") {
            guard let app = AppID(name) else { throw ControlFault.unknownApp(PlainText.line(name, limit: 80)) }
            try await check(app)
            filter.app = app
        }
        filter.user = query.text("user")
        filter.tag = query.text("tag")
        filter.isActive = try query.flag("active")
        let limit = try query.number("limit", in: 1...Self.largestPage) ?? 100
        do {
            return try await devices.list(filter, after: query.text("after").map { AudienceCursor($0) }, limit: limit)
        } catch let fault as BadCursor {
            throw ControlFault(400, "bad_cursor", fault.description)
        }
    }

    private func check(_ app: AppID) async throws {
        guard let apps = await apps?(), !apps.contains(app) else { return }
        throw ControlFault.unknownApp(app.name)
    }

    private func find(_ body: [UInt8]) throws -> DeviceRegistration {
        let document = try document(body)
        do {
            let input = try DeviceInput(document, at: document.root)
            var bare = DeviceInput()
            (bare.app, bare.token) = (input.app, input.token)
            guard input == bare else { throw DeviceFault("send {\"app\":…,\"token\":…} and nothing else") }
            return try input.checked()
        } catch {
            throw ControlFault.badRequest("\(error)")
        }
    }

    private func reason(_ body: [UInt8]) throws(ControlFault) -> String {
        let rule = "send {\"reason\":…}, 1 to \(Self.longestReason) bytes without control characters"
        let document = try document(body)
        var reason: String?
        for member in document.members(document.root) {
            guard document.isString(member.key, "reason") else {
                let key = PlainText.line(document.string(member.key) ?? "", limit: 60)
                throw .badRequest("there is no key \"\(key)\" here; \(rule)")
            }
            reason = document.string(member.value)
        }
        guard let reason, (1...Self.longestReason).contains(reason.utf8.count),
            !ControlCharacters.occur(in: reason.utf8)
        else { throw .badRequest(rule) }
        return reason
    }

    private func document(_ body: [UInt8]) throws(ControlFault) -> JSONDocument {
        do {
            let document = try JSONDocument(body, depthLimit: 8)
            if let key = document.repeatedKey() {
                throw ControlFault.badRequest(
                    "the key \"\(PlainText.line(document.string(key) ?? "", limit: 60))\" is there twice")
            }
            return document
        } catch let fault as ControlFault {
            throw fault
        } catch {
            throw .badRequest("the body is no JSON: \(error)")
        }
    }

    // MARK: Registering

    /// One device, or `{"devices":[…]}`. Of a list each is taken or refused by itself; one alone is refused as a whole.
    private func register(_ request: RoutedRequest) async throws -> any Encodable & Sendable {
        let isTrial = try request.query.flag("dry_run") ?? false
        let document = try document(request.body)
        guard let list = document.value("devices", in: document.root) else {
            let answer = try await register([document.root], of: document, isTrial: isTrial)[0]
            if let fault = answer.error { throw fault }
            return answer
        }
        guard document.kind(list) == .array, document.members(document.root).reduce(0, { count, _ in count + 1 }) == 1
        else { throw ControlFault.badRequest("send {\"devices\":[…]} and nothing else, or one device") }
        let places = Array(document.elements(list))
        guard (1...Self.mostRegistrations).contains(places.count) else {
            throw ControlFault.badRequest(
                "there are \(places.count) devices; 1 to \(Self.mostRegistrations) fit into a request")
        }
        return RegistrationListAnswer(devices: try await register(places, of: document, isTrial: isTrial))
    }

    private func register(
        _ places: [JSONDocument.Place], of document: JSONDocument, isTrial: Bool
    ) async throws -> [RegistrationAnswer] {
        let known = await apps?()
        var answers: [RegistrationAnswer?] = []
        var taken: [DeviceRegistration] = []
        for place in places {
            do {
                let device = try DeviceInput(document, at: place).checked()
                if let known, !known.contains(device.app) {
                    answers.append(RegistrationAnswer(refused: .unknownApp(device.app.name)))
                } else {
                    taken.append(device)
                    answers.append(nil)
                }
            } catch {
                answers.append(RegistrationAnswer(refused: .badRequest(error.description)))
            }
        }
        let done = isTrial ? try await foresee(taken) : taken.isEmpty ? [] : try await devices.register(taken)
        guard done.count == taken.count else {
            throw ControlFault(500, "internal", "the registry answered \(done.count) of \(taken.count) devices")
        }
        var next = done.makeIterator()
        return answers.map { answer in answer ?? RegistrationAnswer(next.next()!) }
    }

    /// What registering would have done.
    private func foresee(_ registrations: [DeviceRegistration]) async throws -> [RegisteredDevice] {
        var result: [RegisteredDevice] = []
        var seen: Set<DeviceID> = []
        for registration in registrations {
            let id = identities.device(registration.app, registration.token)
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
