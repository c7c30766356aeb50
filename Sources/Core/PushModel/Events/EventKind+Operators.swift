extension EventKind {
    /// Whether the event says what an operator has done.
    package var isOperator: Bool {
        (Self.operatorPause.rawValue...Self.operatorStoreRestored.rawValue).contains(rawValue)
    }

    /// The word of what an operator has done.
    var operatorName: StaticString {
        switch self {
        case .operatorPause: "pause"
        case .operatorResume: "resume"
        case .operatorScale: "scale"
        case .operatorBrakeRelease: "brake_release"
        case .operatorReload: "reload"
        case .operatorCancel: "cancel"
        case .operatorDrop: "drop"
        case .operatorKeyAdd: "key_add"
        case .operatorKeyRotate: "key_rotate"
        case .operatorKeyRevoke: "key_revoke"
        case .operatorDeviceAdd: "device_add"
        case .operatorDeviceChange: "device_change"
        case .operatorDeviceDeactivate: "device_deactivate"
        case .operatorDeviceReactivate: "device_reactivate"
        case .operatorDeviceRemove: "device_remove"
        case .operatorDevicesImport: "devices_import"
        case .operatorDevicesExport: "devices_export"
        case .operatorUserExport: "user_export"
        case .operatorUserErase: "user_erase"
        case .operatorWebhookPause: "webhook_pause"
        case .operatorWebhookResume: "webhook_resume"
        case .operatorWebhookSeek: "webhook_seek"
        case .operatorStoreRestored: "store_restored"
        default: "-"
        }
    }
}
