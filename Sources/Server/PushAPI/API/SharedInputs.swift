import PushModel

/// The input of an endpoint that has an app in its path.
package struct AppPath: EndpointInput {
    let app: AppID

    package init(_ read: inout InputReader) {
        app = read.path("app", as: .app, about: "The app.")
    }
}

/// The input of an endpoint that has a device in its path.
package struct DevicePath: EndpointInput {
    let device: DeviceID

    package init(_ read: inout InputReader) {
        device = read.path("device", as: .device, about: "The device id.")
    }
}

/// The input of an endpoint that has an app and a message in its path.
package struct MessagePath: EndpointInput {
    let app: AppID
    let id: MessageID

    package init(_ read: inout InputReader) {
        app = read.path("app", as: .app, about: "The app.")
        id = read.path("id", as: .message, about: "The message id.")
    }
}
