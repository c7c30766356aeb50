import PushModel

/// The addresses of Live Activities, which are the same in all engines.
extension DeviceWriter {
    package func observeActivities(_ observer: @escaping @Sendable (ActivityRegistration) -> Void) {
        activityObserver.set(observer)
    }

    package func page(
        of audience: Audience, app: AppID, kind: AddressKind, activityType: String?, after cursor: AudienceCursor?,
        limit: Int
    ) async throws -> AudiencePage {
        let page = try await page(of: audience, app: app, kind: kind, after: cursor, limit: limit)
        guard let activityType, !page.devices.isEmpty else { return page }
        let stored = Dictionary(try await find(page.devices.map(\.id)).map { ($0.deviceId, $0) }) { one, _ in one }
        var devices: [AudiencePage.Device] = []
        var others: [AudiencePage.Device] = []
        for device in page.devices {
            // An address that the registry does not know may be of any type.
            let known = stored[device.id]?.activityType
            if known.map({ $0.isExactly(activityType) }) ?? true {
                devices.append(device)
            } else if !audience.isDynamic {
                others.append(device)
            }
        }
        return AudiencePage(
            devices: devices, inactive: page.inactive, unknown: page.unknown,
            ofOtherKinds: page.ofOtherKinds + others, next: page.next)
    }
}
